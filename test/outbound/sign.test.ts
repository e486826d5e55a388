import assert from 'node:assert/strict';
import { signature } from '../../src/outbound/sign.ts';

describe('the signature of an outgoing body', () => {
  it('is the HMAC-SHA256 in lowercase hex (RFC 4231, test case 2)', () => {
    assert.equal(
      signature('Jefe', Buffer.from('what do ya want for nothing?')),
      'sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    );
  });

  it('uses the UTF-8 bytes of the secret as the key, and does not decode hex', async () => {
    const secret = 'a1'.repeat(32);
    const key = await crypto.subtle.importKey(
      'raw',
      new TextEncoder().encode(secret),
      { name: 'HMAC', hash: 'SHA-256' },
      false,
      ['sign'],
    );
    const body = Buffer.from([0, 255, 10, 13, 0xc3, 0x28]);
    const expected = Buffer.from(await crypto.subtle.sign('HMAC', key, body)).toString('hex');
    assert.equal(signature(secret, body), `sha256=${expected}`);
  });
});
