import assert from 'node:assert/strict';
import { createAddressGuard } from '../../src/outbound/address-guard.ts';
import type { Lookup } from '../../src/outbound/resolve.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { createTestAuthority } from '../support/certificates.ts';
import { startReceiver } from '../support/receiver.ts';
import { startProxy, startRawServer } from './raw-server.ts';
import { post, senders } from './sending.ts';

describe('the destination of an outgoing attempt', () => {
  const { sender, cleanUp } = senders();
  const receiver = useReceiver('each test', () => ({ name: 'receiver.test' }));
  afterEach(cleanUp);

  it('is an IP address of the host name, which stays in the Host header', async () => {
    const record = await post(sender({ lookup: async () => ['127.0.0.1'] }), receiver.url);
    assert.deepEqual([record.outcome, record.address], ['succeeded', '127.0.0.1']);
    assert.equal(receiver.requests[0]?.headers.host, `receiver.test:${receiver.port}`);
  });

  it('is the IPv6 address in the URL', async () => {
    const ipv6 = await startReceiver({ host: '::1' });
    const record = await post(sender(), ipv6.url);
    await ipv6.close();
    assert.deepEqual([record.outcome, record.address], ['succeeded', '::1']);
  });

  it('is the next address of the name if nothing listens on the first', async () => {
    const record = await post(
      sender({ lookup: async () => ['127.0.0.9', '::1', '127.0.0.1'] }),
      receiver.url,
    );
    assert.deepEqual([record.outcome, record.address], ['succeeded', '127.0.0.1']);
  });

  it('is the next address in the same attempt if the first does not respond', async () => {
    const tls = await (await authority).issue({ names: ['receiver.test'] });
    const secure = await startReceiver({ tls, host: '127.0.0.3', name: 'receiver.test' });
    // Accepts the connection, but never completes the TLS handshake.
    const silent = await startRawServer(() => {}, { host: '127.0.0.2', port: secure.port });
    const { ca } = await authority;
    const record = await post(sender({ ca, lookup: async () => ['127.0.0.2', '127.0.0.3'] }), secure.url);
    assert.deepEqual([record.outcome, record.address], ['succeeded', '127.0.0.3'], record.message ?? '');
    await Promise.all([secure.close(), silent.close()]);
  });

  it('is unreachable if all addresses fail', async () => {
    const record = await post(sender({ lookup: async () => ['127.0.0.8', '127.0.0.9'] }), receiver.url);
    assert.equal(record.failure, 'connection_failed');
  });

  it('is unknown if the name has no address', async () => {
    const unknown: Lookup = async () => {
      throw Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    };
    const missing = await post(sender({ lookup: unknown }), receiver.url);
    assert.deepEqual([missing.failure, missing.message], ['lookup_failed', 'The host name has no address']);
    assert.equal((await post(sender({ lookup: async () => [] }), receiver.url)).failure, 'lookup_failed');
    assert.equal((await post(sender(), 'http://no-such-name.invalid/')).failure, 'lookup_failed');
  });

  it('is unknown if the DNS lookup takes too long', async () => {
    const record = await post(sender({ lookup: () => new Promise(() => {}) }), receiver.url, {
      timeoutMs: 100,
    });
    assert.deepEqual([record.failure, record.message], ['timeout', 'No DNS response within 0.1 s']);
  });

  describe('is checked', () => {
    it('so that refused addresses are never connected to', async () => {
      const strict = sender({ guard: createAddressGuard([]) });
      for (const url of [`http://127.0.0.1:${receiver.port}`, `http://localhost:${receiver.port}`]) {
        const record = await post(strict, url);
        assert.equal(record.failure, 'address_refused');
        assert.match(record.message ?? '', /loopback/);
      }
      assert.equal(receiver.connections(), 0);
    });

    it('without revealing the address of an internal name', async () => {
      const record = await post(sender({ lookup: async () => ['10.1.2.3'] }), 'http://intranet.test:8080/');
      assert.deepEqual(
        [record.failure, record.message],
        ['address_refused', 'Address not allowed: the name resolves to a private address'],
      );
      assert.ok(!JSON.stringify(record).includes('10.1.2.3'));
    });

    it('separately for each address of a name, so that allowed ones are used', async () => {
      const guard = createAddressGuard(['127.0.0.1']);
      const record = await post(
        sender({ guard, lookup: async () => ['10.0.0.1', '127.0.0.2', '127.0.0.1'] }),
        receiver.url,
      );
      assert.deepEqual([record.outcome, record.address], ['succeeded', '127.0.0.1']);
    });

    it('again at each attempt, also with kept connections', async () => {
      const answers = [['127.0.0.1'], ['127.0.0.2']];
      const guard = createAddressGuard(['127.0.0.1']);
      const rebinding = sender({ guard, lookup: async () => answers.shift() ?? [] });
      assert.equal((await post(rebinding, receiver.url)).outcome, 'succeeded');
      assert.equal((await post(rebinding, receiver.url)).failure, 'address_refused');
      assert.equal(receiver.requests.length, 1);
    });

    it('in the same lookup that the connection uses', async () => {
      let asked = 0;
      const lookup = async () => [asked++ === 0 ? '127.0.0.1' : '127.0.0.2'];
      const record = await post(sender({ guard: createAddressGuard(['127.0.0.1']), lookup }), receiver.url);
      assert.deepEqual([record.outcome, asked], ['succeeded', 1]);
    });
  });

  describe('through an egress proxy', () => {
    it('is requested from the proxy as an IP address, also for http', async () => {
      const proxy = await startProxy();
      const record = await post(
        sender({ proxy: proxy.url, lookup: async () => ['127.0.0.1'] }),
        receiver.url,
      );
      await proxy.close();
      assert.deepEqual([record.outcome, record.address], ['succeeded', '127.0.0.1']);
      assert.deepEqual(proxy.asked, [{ authority: `127.0.0.1:${receiver.port}`, authorization: undefined }]);
      assert.equal(receiver.requests[0]?.headers.host, `receiver.test:${receiver.port}`);
    });

    it('keeps its name in TLS', async () => {
      const { ca, issue } = await authority;
      const secure = await startReceiver({
        tls: await issue({ names: ['receiver.test'] }),
        host: '::1',
        name: 'receiver.test',
      });
      const proxy = await startProxy();
      const proxyUrl = proxy.url.replace('//', '//me:pass%20word@');
      const record = await post(sender({ ca, proxy: proxyUrl, lookup: async () => ['::1'] }), secure.url);
      await Promise.all([secure.close(), proxy.close()]);
      assert.equal(record.outcome, 'succeeded', record.message ?? '');
      const authorization = `Basic ${Buffer.from('me:pass word').toString('base64')}`;
      assert.deepEqual(proxy.asked, [{ authority: `[::1]:${secure.port}`, authorization }]);
    });

    it('is checked before the proxy receives a request', async () => {
      const proxy = await startProxy();
      const strict = sender({
        guard: createAddressGuard([]),
        proxy: proxy.url,
        lookup: async () => ['10.0.0.1'],
      });
      const record = await post(strict, receiver.url);
      await proxy.close();
      assert.equal(record.failure, 'address_refused');
      assert.deepEqual(proxy.asked, []);
    });

    it('is not reached if the proxy refuses, hangs or is down', async () => {
      const no = await startProxy({ status: 403 });
      const hanging = await startRawServer(() => {});
      const lookup: Lookup = async () => ['127.0.0.1'];
      const refused = await post(sender({ proxy: no.url, lookup }), receiver.url);
      const hung = await post(sender({ proxy: `http://127.0.0.1:${hanging.port}`, lookup }), receiver.url, {
        timeoutMs: 150,
      });
      await Promise.all([no.close(), hanging.close()]);
      const gone = await post(sender({ proxy: no.url, lookup }), receiver.url);
      assert.deepEqual(
        [refused.failure, refused.message],
        ['connection_failed', 'The egress proxy returned 403'],
      );
      assert.equal(hung.failure, 'timeout');
      assert.equal(gone.failure, 'connection_failed');
      assert.match(gone.message ?? '', /egress proxy/);
      assert.equal(receiver.requests.length, 0);
    });

    it('is independent of HTTPS_PROXY and HTTP_PROXY', async () => {
      const proxy = await startProxy();
      Object.assign(process.env, { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url, NODE_USE_ENV_PROXY: '1' });
      try {
        const record = await post(sender({ lookup: async () => ['127.0.0.1'] }), receiver.url);
        assert.equal(record.outcome, 'succeeded');
        assert.deepEqual(proxy.asked, []);
      } finally {
        for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'NODE_USE_ENV_PROXY']) delete process.env[name];
        await proxy.close();
      }
    });
  });
});

const authority = createTestAuthority();
