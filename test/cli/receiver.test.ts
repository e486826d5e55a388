import assert from 'node:assert/strict';
import {
  describeCallback,
  type ReceivedCallback,
  type ReceiverOptions,
  startReceiver,
} from '../../cli/receiver.ts';
import { createAddressGuard } from '../../src/outbound/address-guard.ts';
import { createOutboundClient } from '../../src/outbound/attempt.ts';
import { requestHeaders } from '../../src/outbound/attempt-record.ts';
import { signature } from '../../src/outbound/sign.ts';
import { createTestAuthority } from '../support/certificates.ts';

const SECRET = 'ab'.repeat(32);
const BODY = Buffer.from('{"execution_id":"e-1","status":"completed","output":{"text":"grün"}}');

describe('the sample receiver', () => {
  const guard = createAddressGuard(['127.0.0.0/8', '::1']);
  const callbacks: ReceivedCallback[] = [];
  const closing: { close(): Promise<void> }[] = [];

  afterEach(async () => {
    callbacks.length = 0;
    await Promise.all(closing.splice(0).map((open) => open.close()));
  });

  const start = async (options: Partial<ReceiverOptions> = {}) => {
    const receiver = await startReceiver({ onCallback: (callback) => callbacks.push(callback), ...options });
    closing.push(receiver);
    return receiver;
  };
  const send = async (url: string, headers: Record<string, string>, { ca = '', body = BODY } = {}) => {
    const sender = createOutboundClient({ guard, ...(ca === '' ? {} : { ca }) });
    closing.push(sender);
    return await sender.attempt({
      url,
      headers: requestHeaders(headers),
      body,
      timeoutMs: 3_000,
      maxResponseBytes: 1_024,
    });
  };
  const signed = { 'x-service-signature': signature(SECRET, BODY), 'x-service-event': 'task.completed' };

  it('returns 204 for a correctly signed callback over HTTPS', async () => {
    const authority = await createTestAuthority();
    const { url } = await start({
      ...(await authority.issue({ names: ['localhost'] })),
      secrets: [SECRET],
    });
    assert.match(url, /^https:\/\/localhost:\d+$/);
    const record = await send(url, signed, { ca: authority.ca });
    assert.equal(record.response?.status, 204, record.message ?? '');
    const [callback] = callbacks;
    assert.deepEqual(
      [callback?.verified, callback?.executionId, callback?.status, callback?.event, callback?.bytes],
      [true, 'e-1', 'completed', 'task.completed', BODY.length],
    );
  });

  it('fetches the secret of the run', async () => {
    const requested: string[] = [];
    const secretFor = async (id: string) => {
      requested.push(id);
      return SECRET;
    };
    const { url } = await start({ secretFor });
    assert.equal((await send(url, signed)).response?.status, 204);
    assert.deepEqual(requested, ['e-1']);
  });

  const refused: ReadonlyArray<
    readonly [what: string, headers: Record<string, string>, RegExp, Partial<ReceiverOptions>]
  > = [
    ['no signature', {}, /X-Service-Signature is missing/, { secrets: [SECRET] }],
    ['another secret', signed, /does not match/, { secrets: ['other'] }],
    [
      'another body',
      { 'x-service-signature': signature(SECRET, Buffer.from('{}')) },
      /does not match/,
      { secrets: [SECRET] },
    ],
    [
      'a signature in capitals',
      { 'x-service-signature': signature(SECRET, BODY).toUpperCase() },
      /does not match/,
      { secrets: [SECRET] },
    ],
    ['a short signature', { 'x-service-signature': 'sha256=' }, /does not match/, { secrets: [SECRET] }],
    ['an unknown secret', signed, /is unknown/, {}],
  ];
  for (const [what, headers, reason, options] of refused) {
    it(`returns 401 for ${what}`, async () => {
      const { url } = await start(options);
      const record = await send(url, headers);
      assert.equal(record.response?.status, 401);
      assert.match(record.response.body.toString(), reason);
      assert.deepEqual([callbacks[0]?.verified, callbacks[0]?.answered], [false, 401]);
    });
  }

  it('returns 405 for other methods than POST, and accepts a body that is not JSON', async () => {
    const { url } = await start({ secrets: [SECRET] });
    const response = await fetch(url);
    assert.deepEqual([response.status, response.headers.get('allow')], [405, 'POST']);
    const body = Buffer.from('not json');
    await send(url, { 'x-service-signature': signature(SECRET, body) }, { body });
    assert.deepEqual(
      [callbacks[0]?.verified, callbacks[0]?.executionId, callbacks[0]?.body],
      [true, null, 'not json'],
    );
  });

  it('prints a callback in one line with its body below', async () => {
    const { url } = await start({ secrets: [SECRET] });
    await send(url, signed);
    const [callback] = callbacks;
    assert.ok(callback);
    const [line, ...body] = describeCallback(callback).split('\n');
    assert.match(line ?? '', /e-1 completed {2}signature verified {2}\(\d+ bytes, returned 204\)$/);
    assert.deepEqual(JSON.parse(body.join('')), callback.body);
  });

  const EVENT = Buffer.from('{"id":"evt_1","event":"issue.created","data":{}}');
  const eventHeaders = { 'x-service-event': 'issue.created', 'x-service-delivery': 'd-1' };

  it('accepts the delivery of a webhook, and names its event', async () => {
    const { url } = await start({ secrets: [SECRET] });
    const headers = { ...eventHeaders, 'x-service-signature': signature(SECRET, EVENT) };
    assert.equal((await send(url, headers, { body: EVENT })).response?.status, 204);
    const [delivery] = callbacks;
    assert.ok(delivery);
    assert.deepEqual([delivery.executionId, delivery.eventId, delivery.delivery], [null, 'evt_1', 'd-1']);
    assert.match(
      describeCallback(delivery),
      / {2}issue\.created evt_1 delivery d-1 {2}signature verified {2}/,
    );
  });

  it('accepts a signature of the previous secret during a rotation', async () => {
    const { url } = await start({ secrets: [SECRET] });
    const headers = {
      ...eventHeaders,
      'x-service-signature': signature('newer', EVENT),
      'x-service-signature-previous': signature(SECRET, EVENT),
    };
    assert.equal((await send(url, headers, { body: EVENT })).response?.status, 204);
  });

  it('reports that the secret of a webhook is unknown', async () => {
    const { url } = await start();
    await send(url, { ...eventHeaders, 'x-service-signature': signature(SECRET, EVENT) }, { body: EVENT });
    assert.deepEqual(
      [callbacks[0]?.verified, callbacks[0]?.reason],
      [false, 'the secret of this webhook is unknown'],
    );
  });

  it('fails if the port is in use', async () => {
    const { url } = await start();
    await assert.rejects(start({ port: Number(new URL(url).port) }), { code: 'EADDRINUSE' });
  });
});
