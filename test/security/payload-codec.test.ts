import assert from 'node:assert/strict';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { parseKeyRing } from '../../src/security/key-ring.ts';
import { createPayloadCodec } from '../../src/security/payload-codec.ts';

const ringOf = (...ids: string[]) =>
  parseKeyRing(ids.map((id) => `${id}:${Buffer.alloc(32, id).toString('base64')}`).join(','));
const codecOf = (...ids: string[]) => createPayloadCodec(ringOf(...ids));
const payloadOf = (value: unknown): Payload => defaultPayloadConverter.toPayload(value);
const valueOf = (payload: Payload | undefined): unknown =>
  payload && defaultPayloadConverter.fromPayload(payload);

const VALUES = ['Größe', { list: [1, null, 'é😀'] }, undefined, null, new Uint8Array([0, 255, 10]), ''];

describe('the payload codec', () => {
  it('decodes encoded values of every type', async () => {
    const codec = codecOf('k1');
    for (const value of VALUES) {
      const [encrypted] = await codec.encode([payloadOf(value)]);
      assert.ok(encrypted);
      assert.deepEqual(valueOf((await codec.decode([encrypted]))[0]), value);
    }
    assert.deepEqual(await codec.encode([]), []);
  });

  it('encrypts equal payloads differently, without readable parts', async () => {
    const codec = codecOf('k1');
    const [one, two] = await codec.encode([payloadOf('a secret'), payloadOf('a secret')]);
    for (const payload of [one, two]) {
      const text = JSON.stringify(payload, (_, value) =>
        value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
      );
      assert.doesNotMatch(Buffer.from(payload?.data ?? []).toString('latin1') + text, /secret|json\/plain/);
    }
    assert.notDeepEqual(one?.data, two?.data);
  });

  it('records the id of its key, and decrypts with every configured key', async () => {
    const [old] = await codecOf('k1').encode([payloadOf('old')]);
    assert.equal(Buffer.from(old?.metadata?.['encryption-key-id'] ?? []).toString(), 'k1');
    const [decrypted] = await codecOf('k2', 'k1').decode(old ? [old] : []);
    assert.equal(valueOf(decrypted), 'old');
  });

  it('does not change unencrypted payloads when decoding', async () => {
    const plain = payloadOf({ by: 'operator' });
    assert.deepEqual(await codecOf('k1').decode([plain]), [plain]);
  });

  it('does not encrypt a payload twice', async () => {
    const codec = codecOf('k1');
    const encrypted = await codec.encode([payloadOf('once')]);
    assert.deepEqual(await codec.encode(encrypted), encrypted);
  });

  it('rejects payloads that its keys cannot decrypt, and names only the key', async () => {
    const encrypted = await codecOf('k1').encode([payloadOf('a secret')]);
    await assert.rejects(codecOf('k2').decode(encrypted), {
      name: 'PayloadError',
      message: 'the payload key "k1" is not configured (BATON_PAYLOAD_KEYS)',
    });
    const [payload] = encrypted;
    const changed = Buffer.from(payload?.data ?? []);
    changed[20] = (changed[20] ?? 0) ^ 1;
    const forged: Payload = { metadata: payload?.metadata ?? {}, data: changed };
    await assert.rejects(codecOf('k1').decode([forged]), /cannot decrypt a payload with the key "k1"/);
    // A truncated tag would be easy to guess.
    for (const bytes of [0, 5, 12, 16, 20]) {
      const cut: Payload = { metadata: payload?.metadata ?? {}, data: changed.subarray(0, bytes) };
      await assert.rejects(codecOf('k1').decode([cut]), { name: 'PayloadError' }, `${bytes} bytes`);
    }
  });
});
