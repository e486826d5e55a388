import assert from 'node:assert/strict';
import {
  createTestAuthority,
  selfSigned,
  type ServerCertificate,
  type TestAuthority,
} from '../support/certificates.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { startRawServer } from './raw-server.ts';
import { post, senders } from './sending.ts';

const DAY = 24 * 3_600_000;

describe('an outgoing attempt over TLS', () => {
  const { sender, cleanUp } = senders();
  let authority: TestAuthority;
  const open: Receiver[] = [];

  before(async () => {
    authority = await createTestAuthority();
  });
  afterEach(async () => {
    await cleanUp();
    await Promise.all(open.splice(0).map((receiver) => receiver.close()));
  });

  const receiverWith = async (tls: ServerCertificate, name = 'localhost') => {
    const receiver = await startReceiver({ tls, name });
    open.push(receiver);
    return receiver;
  };

  it('succeeds if the configured authority signed the certificate', async () => {
    const receiver = await receiverWith(await authority.issue({ names: ['localhost'] }));
    const record = await post(sender({ ca: authority.ca }), receiver.url);
    assert.equal(record.outcome, 'succeeded', record.message ?? '');
    assert.ok(record.timings.tls_ms !== null && record.timings.tls_ms > 0);
    assert.equal(receiver.requests.length, 1);
  });

  it('succeeds for an IP address in the certificate', async () => {
    const receiver = await receiverWith(await authority.issue({ names: ['127.0.0.1'] }), '127.0.0.1');
    const record = await post(sender({ ca: authority.ca }), receiver.url);
    assert.equal(record.outcome, 'succeeded', record.message ?? '');
  });

  it('keeps the connection for the next attempt', async () => {
    const receiver = await receiverWith(await authority.issue({ names: ['localhost'] }));
    const kept = sender({ ca: authority.ca });
    await post(kept, receiver.url);
    const second = await post(kept, receiver.url);
    assert.equal(second.timings.tls_ms, null);
    assert.equal(receiver.connections(), 1);
  });

  it('sends the request again if the receiver has closed the kept connection', async () => {
    const receiver = await receiverWith(await authority.issue({ names: ['localhost'] }));
    const kept = sender({ ca: authority.ca });
    await post(kept, receiver.url);
    receiver.answering(({ connection }, response) => {
      if (connection !== 1) return 204;
      response.socket?.destroy();
      return undefined;
    });
    const second = await post(kept, receiver.url);
    assert.deepEqual([second.outcome, second.timings.reconnected], ['succeeded', true], second.message ?? '');
    assert.equal(typeof second.timings.tls_ms, 'number');
  });

  const failures: ReadonlyArray<
    readonly [what: string, make: () => Promise<ServerCertificate>, message: string, name?: string]
  > = [
    [
      'for another name',
      () => authority.issue({ names: ['example.com'] }),
      'The certificate is for another host',
    ],
    [
      'for another address',
      () => authority.issue({ names: ['localhost', '127.0.0.2'] }),
      'The certificate is for another host',
      '127.0.0.1',
    ],
    [
      'that has expired',
      () =>
        authority.issue({
          names: ['localhost'],
          validFrom: new Date(Date.now() - 9 * DAY),
          validTo: new Date(Date.now() - DAY),
        }),
      'The certificate has expired',
    ],
    [
      'that is not valid yet',
      () =>
        authority.issue({
          names: ['localhost'],
          validFrom: new Date(Date.now() + DAY),
          validTo: new Date(Date.now() + 2 * DAY),
        }),
      'The certificate is not valid yet',
    ],
    ['that is self-signed', () => selfSigned({ names: ['localhost'] }), 'The certificate is self-signed'],
    [
      'of an unknown authority',
      async () => (await createTestAuthority('Another authority')).issue({ names: ['localhost'] }),
      'The certificate authority is not trusted',
    ],
  ];
  for (const [what, make, message, name] of failures) {
    it(`fails with a certificate ${what}, and sends nothing`, async () => {
      const receiver = await receiverWith(await make(), name);
      const record = await post(sender({ ca: authority.ca }), receiver.url);
      assert.deepEqual([record.failure, record.message], ['tls_failed', message]);
      assert.equal(record.address, '127.0.0.1');
      assert.equal(receiver.requests.length, 0);
    });
  }

  it('does not trust the authority without configuration', async () => {
    const receiver = await receiverWith(await authority.issue({ names: ['localhost'] }));
    const record = await post(sender(), receiver.url);
    assert.equal(record.failure, 'tls_failed');
  });

  it('verifies certificates regardless of NODE_TLS_REJECT_UNAUTHORIZED', async () => {
    const receiver = await receiverWith(await selfSigned({ names: ['localhost'] }));
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    try {
      assert.equal((await post(sender(), receiver.url)).failure, 'tls_failed');
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    }
  });

  it('fails if the receiver does not use TLS', async () => {
    const plain = await startReceiver({ name: 'localhost' });
    open.push(plain);
    const record = await post(sender(), plain.url.replace('http:', 'https:'));
    assert.equal(record.failure, 'tls_failed');
  });

  it('fails if the handshake is interrupted or hangs', async () => {
    const cutting = await startRawServer((socket) => socket.once('data', () => socket.destroy()));
    const silent = await startRawServer(() => {});
    const cut = await post(sender(), `https://localhost:${cutting.port}`);
    const hung = await post(sender(), `https://127.0.0.1:${silent.port}`, { timeoutMs: 150 });
    await Promise.all([cutting.close(), silent.close()]);
    assert.equal(cut.failure, 'tls_failed');
    assert.deepEqual([hung.failure, hung.message], ['timeout', 'No connection within 0.15 s']);
  });
});
