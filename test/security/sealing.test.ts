import assert from 'node:assert/strict';
import { parseKeyRing } from '../../src/security/key-ring.ts';
import {
  callbackSecretContext,
  createSealing,
  pushSecretsContext,
  SealError,
  storedResponseContext,
  webhookSecretContext,
} from '../../src/security/sealing.ts';

const key = (fill: number) => Buffer.alloc(32, fill).toString('base64');

describe('sealing', () => {
  const sealing = createSealing(parseKeyRing(`a:${key(1)}`));

  it('opens a text that was sealed for the same context', () => {
    const sealed = sealing.seal('sécret', 'table.column:1');
    assert.match(sealed, /^v1\.a\.[\w-]{16}\.[\w-]+$/);
    assert.ok(!sealed.includes('sécret'));
    assert.equal(sealing.open(sealed, 'table.column:1'), 'sécret');
  });

  it('never returns the same sealed text twice', () => {
    assert.notEqual(sealing.seal('x', 'p'), sealing.seal('x', 'p'));
  });

  it('opens no text that was sealed for another context or changed', () => {
    const sealed = sealing.seal('secret', 'table.column:1');
    assert.throws(() => sealing.open(sealed, 'table.column:2'), SealError);
    const [version, id, nonce, body = ''] = sealed.split('.');
    const bytes = Buffer.from(body, 'base64url');
    for (const position of [0, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed[position] = (changed[position] ?? 0) ^ 1;
      const text = [version, id, nonce, changed.toString('base64url')].join('.');
      assert.throws(() => sealing.open(text, 'table.column:1'), SealError);
    }
    for (const text of ['', 'v1', 'v2.a.b.c', 'v1.a.b.c', `v1.a.${nonce}.AA`]) {
      assert.throws(() => sealing.open(text, 'table.column:1'), SealError);
    }
  });

  it('has a context of its own for each secret, which stored secrets depend on', () => {
    assert.equal(callbackSecretContext('run'), 'task_runs.callback_secret:run');
    assert.equal(webhookSecretContext('webhook'), 'webhooks.secret:webhook');
    assert.equal(pushSecretsContext({ executionId: 'run', id: 'one' }), 'push_configs.secrets:run:one');
    assert.equal(storedResponseContext({ scope: 'project', key: 'a' }), 'idempotency_keys.answer:project:a');
  });

  it('opens texts that an older key of the ring sealed, and names a missing key', () => {
    const rotated = createSealing(parseKeyRing(`b:${key(2)},a:${key(1)}`));
    assert.equal(rotated.open(sealing.seal('old', 'p'), 'p'), 'old');
    const sealed = rotated.seal('new', 'p');
    assert.ok(sealed.startsWith('v1.b.'));
    assert.throws(() => sealing.open(sealed, 'p'), /"b" is not configured/);
  });
});
