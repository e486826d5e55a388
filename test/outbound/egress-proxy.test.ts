import assert from 'node:assert/strict';
import { createAddressGuard } from '../../src/outbound/address-guard.ts';
import { createGuardedFetch } from '../../src/outbound/guarded-fetch.ts';
import { createTestAuthority, type TestAuthority } from '../support/certificates.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { startProxy } from './raw-server.ts';
import { localGuard, post, senders } from './sending.ts';

/** More tests of the destination are in attempt-address.test.ts. */
describe('an attempt through an egress proxy', () => {
  const { sender, cleanUp } = senders();
  const localLookup = async () => ['127.0.0.1'];
  const open: { close(): Promise<void> }[] = [];
  let authority: TestAuthority;
  before(async () => {
    authority = await createTestAuthority();
  });
  afterEach(async () => {
    await cleanUp();
    await Promise.all(open.splice(0).map((one) => one.close()));
  });

  const proxyWith = async (options: Parameters<typeof startProxy>[0] = {}) => {
    const proxy = await startProxy(options);
    open.push(proxy);
    return proxy;
  };
  const receiverWith = async (names: string[] | null, host = '127.0.0.1'): Promise<Receiver> => {
    const tls = names === null ? {} : { tls: await authority.issue({ names }) };
    const receiver = await startReceiver({ ...tls, host, name: 'hook.test' });
    open.push(receiver);
    return receiver;
  };

  it('uses CONNECT to the checked address for https, with the name in TLS, Host and certificate', async () => {
    const [proxy, receiver] = [await proxyWith(), await receiverWith(['hook.test'])];
    const client = sender({ ca: authority.ca, proxy: proxy.url, lookup: localLookup });
    const record = await post(client, receiver.url);
    assert.deepEqual([record.outcome, record.address], ['succeeded', '127.0.0.1'], record.message ?? '');
    assert.deepEqual(
      proxy.asked.map(({ authority: asked }) => asked),
      [`127.0.0.1:${receiver.port}`],
    );
    assert.equal(receiver.requests[0]?.headers.host, `hook.test:${receiver.port}`);
    assert.equal(receiver.requests[0]?.body.toString(), '{"hello":"there"}');
  });

  it('does not trust a certificate for another name, and sends nothing', async () => {
    const [proxy, receiver] = [await proxyWith(), await receiverWith(['other.test'])];
    const client = sender({ ca: authority.ca, proxy: proxy.url, lookup: localLookup });
    const record = await post(client, receiver.url);
    assert.deepEqual([record.failure, receiver.requests.length], ['tls_failed', 0]);
  });

  it('reuses a kept connection without another request to the proxy', async () => {
    const [proxy, receiver] = [await proxyWith(), await receiverWith(['hook.test'])];
    const client = sender({ ca: authority.ca, proxy: proxy.url, lookup: localLookup });
    for (let count = 0; count < 3; count += 1)
      assert.equal((await post(client, receiver.url)).outcome, 'succeeded');
    assert.deepEqual([proxy.asked.length, receiver.connections(), receiver.requests.length], [1, 1, 3]);
  });

  it('checks a name that changes between lookups, also with kept connections', async () => {
    const [proxy, receiver] = [await proxyWith(), await receiverWith(null)];
    const answers = [['127.0.0.1'], ['10.0.0.1'], ['::ffff:169.254.169.254'], ['127.0.0.1']];
    const guard = createAddressGuard(['127.0.0.1']);
    const client = sender({ guard, proxy: proxy.url, lookup: async () => answers.shift() ?? [] });
    const outcomes = [];
    for (let count = 0; count < 4; count += 1) {
      const { outcome, failure } = await post(client, receiver.url);
      outcomes.push(failure ?? outcome);
    }
    assert.deepEqual(outcomes, ['succeeded', 'address_refused', 'address_refused', 'succeeded']);
    assert.ok(proxy.asked.every(({ authority: asked }) => asked === `127.0.0.1:${receiver.port}`));
    assert.equal(receiver.requests.length, 2);
  });

  it('requests the next address if the proxy does not reach the first', async () => {
    const receiver = await receiverWith(null);
    const proxy = await proxyWith({ status: (asked) => (asked.startsWith('127.0.0.1:') ? 200 : 502) });
    const client = sender({ proxy: proxy.url, lookup: async () => ['127.0.0.7', '127.0.0.1'] });
    const record = await post(client, receiver.url);
    assert.deepEqual([record.outcome, record.address], ['succeeded', '127.0.0.1'], record.message ?? '');
    assert.equal(proxy.asked.length, 2);
  });

  it('requests the default port of the scheme if the URL has none', async () => {
    const proxy = await proxyWith({ status: 502 });
    const client = sender({ proxy: proxy.url, lookup: localLookup });
    const guarded = createGuardedFetch({ guard: localGuard, proxy: proxy.url, lookup: localLookup });
    for (const url of ['http://hook.test/', 'https://hook.test/', 'https://hook.test:8443/']) {
      const failed = { kind: 'connection_failed', message: 'The egress proxy returned 502' };
      assert.equal((await post(client, url)).message, failed.message);
      await assert.rejects(guarded.fetch(url), failed);
    }
    await guarded.close();
    assert.deepEqual(
      proxy.asked.map(({ authority: asked }) => asked),
      ['80', '80', '443', '443', '8443', '8443'].map((port) => `127.0.0.1:${port}`),
    );
  });

  it('checks literal addresses, and requests them unchanged', async () => {
    const ipv6 = await startReceiver({ host: '::1' });
    open.push(ipv6);
    const proxy = await proxyWith();
    const guard = createAddressGuard(['::1']);
    const client = sender({ guard, proxy: proxy.url });
    assert.equal((await post(client, ipv6.url)).outcome, 'succeeded');
    assert.equal((await post(client, 'http://127.0.0.1:1/')).failure, 'address_refused');
    assert.deepEqual(
      proxy.asked.map(({ authority: asked }) => asked),
      [`[::1]:${ipv6.port}`],
    );
  });

  it('sends the password to the proxy only, and does not include it in messages', async () => {
    const receiver = await receiverWith(null);
    const refusing = await proxyWith({ status: 407 });
    const url = refusing.url.replace('//', '//user:very%20secret@');
    const record = await post(sender({ proxy: url, lookup: localLookup }), receiver.url);
    assert.deepEqual(
      [record.failure, record.message],
      ['connection_failed', 'The egress proxy returned 407'],
    );
    const basic = `Basic ${Buffer.from('user:very secret').toString('base64')}`;
    assert.deepEqual(refusing.asked[0]?.authorization, basic);
    const working = await proxyWith();
    const through = working.url.replace('//', '//user:very%20secret@');
    assert.equal(
      (await post(sender({ proxy: through, lookup: localLookup }), receiver.url)).outcome,
      'succeeded',
    );
    assert.equal(receiver.requests[0]?.headers['proxy-authorization'], undefined);
    assert.doesNotMatch(JSON.stringify(record), /secret/);
  });

  it('reports an invalid or missing response of the proxy as an error of the proxy', async () => {
    const receiver = await receiverWith(null);
    for (const answer of ['SSH-2.0-OpenSSH_9.9\r\n', '', 'HTTP/1.1 200 OK']) {
      const proxy = await proxyWith({ answer });
      const record = await post(sender({ proxy: proxy.url, lookup: localLookup }), receiver.url);
      assert.equal(record.failure, 'connection_failed', answer);
      assert.match(record.message ?? '', /egress proxy/);
    }
    assert.equal(receiver.connections(), 0);
  });

  it('ends with its time limit if the receiver behind the proxy hangs', async () => {
    const receiver = await receiverWith(null);
    receiver.hanging();
    const proxy = await proxyWith();
    const record = await post(sender({ proxy: proxy.url, lookup: localLookup }), receiver.url, {
      timeoutMs: 200,
    });
    assert.equal(record.failure, 'timeout');
  });
});
