import assert from 'node:assert/strict';
import { createAddressGuard } from '../../src/outbound/address-guard.ts';
import { createTestAuthority, type TestAuthority } from '../support/certificates.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { startProxy } from './raw-server.ts';
import { post, senders } from './sending.ts';

/** Beside what attempt-address.test.ts says of the way there. */
describe('through an egress proxy', () => {
  const { sender, cleanUp } = senders();
  const here = async () => ['127.0.0.1'];
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

  it('https goes by CONNECT to the judged address, with the name in TLS, Host and certificate', async () => {
    const [proxy, receiver] = [await proxyWith(), await receiverWith(['hook.test'])];
    const ours = sender({ ca: authority.ca, proxy: proxy.url, lookup: here });
    const record = await post(ours, receiver.url);
    assert.deepEqual([record.outcome, record.address], ['succeeded', '127.0.0.1'], record.message ?? '');
    assert.deepEqual(
      proxy.asked.map(({ authority: asked }) => asked),
      [`127.0.0.1:${receiver.port}`],
    );
    assert.equal(receiver.requests[0]?.headers.host, `hook.test:${receiver.port}`);
    assert.equal(receiver.requests[0]?.body.toString(), '{"hello":"there"}');
  });

  it('a certificate for another name is not trusted, and nothing is sent', async () => {
    const [proxy, receiver] = [await proxyWith(), await receiverWith(['other.test'])];
    const ours = sender({ ca: authority.ca, proxy: proxy.url, lookup: here });
    const record = await post(ours, receiver.url);
    assert.deepEqual([record.failure, receiver.requests.length], ['tls_failed', 0]);
  });

  it('a kept connection serves the next attempt, without asking the proxy again', async () => {
    const [proxy, receiver] = [await proxyWith(), await receiverWith(['hook.test'])];
    const ours = sender({ ca: authority.ca, proxy: proxy.url, lookup: here });
    for (let count = 0; count < 3; count += 1)
      assert.equal((await post(ours, receiver.url)).outcome, 'succeeded');
    assert.deepEqual([proxy.asked.length, receiver.connections(), receiver.requests.length], [1, 1, 3]);
  });

  it('a name that changes between look-ups is judged at each attempt, kept connections included', async () => {
    const [proxy, receiver] = [await proxyWith(), await receiverWith(null)];
    const answers = [['127.0.0.1'], ['10.0.0.1'], ['::ffff:169.254.169.254'], ['127.0.0.1']];
    const guard = createAddressGuard(['127.0.0.1']);
    const ours = sender({ guard, proxy: proxy.url, lookup: async () => answers.shift() ?? [] });
    const outcomes = [];
    for (let count = 0; count < 4; count += 1) {
      const { outcome, failure } = await post(ours, receiver.url);
      outcomes.push(failure ?? outcome);
    }
    assert.deepEqual(outcomes, ['succeeded', 'address_refused', 'address_refused', 'succeeded']);
    assert.ok(proxy.asked.every(({ authority: asked }) => asked === `127.0.0.1:${receiver.port}`));
    assert.equal(receiver.requests.length, 2);
  });

  it('the next address is asked for where the proxy does not reach the first', async () => {
    const receiver = await receiverWith(null);
    const proxy = await proxyWith({ status: (asked) => (asked.startsWith('127.0.0.1:') ? 200 : 502) });
    const ours = sender({ proxy: proxy.url, lookup: async () => ['127.0.0.7', '127.0.0.1'] });
    const record = await post(ours, receiver.url);
    assert.deepEqual([record.outcome, record.address], ['succeeded', '127.0.0.1'], record.message ?? '');
    assert.equal(proxy.asked.length, 2);
  });

  it('literal addresses are judged too, and asked for as they are', async () => {
    const ipv6 = await startReceiver({ host: '::1' });
    open.push(ipv6);
    const proxy = await proxyWith();
    const guard = createAddressGuard(['::1']);
    const ours = sender({ guard, proxy: proxy.url });
    assert.equal((await post(ours, ipv6.url)).outcome, 'succeeded');
    assert.equal((await post(ours, 'http://127.0.0.1:1/')).failure, 'address_refused');
    assert.deepEqual(
      proxy.asked.map(({ authority: asked }) => asked),
      [`[::1]:${ipv6.port}`],
    );
  });

  it('a password goes to the proxy alone, and into no message', async () => {
    const receiver = await receiverWith(null);
    const refusing = await proxyWith({ status: 407 });
    const url = refusing.url.replace('//', '//user:very%20secret@');
    const record = await post(sender({ proxy: url, lookup: here }), receiver.url);
    assert.deepEqual(
      [record.failure, record.message],
      ['connection_failed', 'The egress proxy returned 407'],
    );
    const basic = `Basic ${Buffer.from('user:very secret').toString('base64')}`;
    assert.deepEqual(refusing.asked[0]?.authorization, basic);
    const working = await proxyWith();
    const through = working.url.replace('//', '//user:very%20secret@');
    assert.equal((await post(sender({ proxy: through, lookup: here }), receiver.url)).outcome, 'succeeded');
    assert.equal(receiver.requests[0]?.headers['proxy-authorization'], undefined);
    assert.doesNotMatch(JSON.stringify(record), /secret/);
  });

  it('a proxy that speaks no HTTP, or goes away, is told apart from the receiver', async () => {
    const receiver = await receiverWith(null);
    for (const answer of ['SSH-2.0-OpenSSH_9.9\r\n', '', 'HTTP/1.1 200 OK']) {
      const proxy = await proxyWith({ answer });
      const record = await post(sender({ proxy: proxy.url, lookup: here }), receiver.url);
      assert.equal(record.failure, 'connection_failed', answer);
      assert.match(record.message ?? '', /egress proxy/);
    }
    assert.equal(receiver.connections(), 0);
  });

  it('the time limit is over everything, the proxy included', async () => {
    const receiver = await receiverWith(null);
    receiver.hanging();
    const proxy = await proxyWith();
    const record = await post(sender({ proxy: proxy.url, lookup: here }), receiver.url, { timeoutMs: 200 });
    assert.equal(record.failure, 'timeout');
  });
});
