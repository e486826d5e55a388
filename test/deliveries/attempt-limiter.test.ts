import assert from 'node:assert/strict';
import { getEventListeners, once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { limitsOf } from '../../src/runtime/delivery-activities.ts';
import { createAttemptLimiter } from '../../src/activities/deliveries/attempt-limiter.ts';

const TARGET = { webhookId: 'a webhook', workspaceId: 'a workspace' };

describe('the limits of attempts', () => {
  it('leave places to other workspaces, but a webhook can use all its places', () => {
    const of = (perWebhook: number, overall: number) =>
      limitsOf({ attemptsAtOnce: { perWebhook, overall } }).perWorkspace;
    assert.deepEqual([of(10, 100), of(10, 101), of(10, 20), of(1, 2)], [40, 41, 10, 1]);
  });
});

describe('the limiter of attempts', () => {
  const withOnePlace = () => createAttemptLimiter({ perWebhook: 1, perWorkspace: 1, overall: 1 });

  it('frees a place once, although its attempt releases it several times', async () => {
    const limiter = withOnePlace();
    const first = await limiter.acquire(TARGET, 1);
    first?.release();
    first?.release();
    const second = await limiter.acquire(TARGET, 1);
    assert.ok(second);
    assert.equal(await limiter.acquire(TARGET, 1), null, 'the only place is taken');
    first?.release();
    assert.equal(await limiter.acquire(TARGET, 1), null, 'it is still taken');
    second.release();
    assert.ok(await limiter.acquire(TARGET, 1));
  });

  it('gives a place to an attempt that waits for it, and nothing of the wait is left', async () => {
    const limiter = withOnePlace();
    const first = await limiter.acquire(TARGET, 1);
    const { signal } = new AbortController();
    const waiting = limiter.acquire(TARGET, 60_000, signal);
    assert.equal(getEventListeners(signal, 'abort').length, 1);
    first?.release();
    assert.ok(await waiting);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  it('gives no place to an attempt that was aborted before or during its wait', async () => {
    const limiter = withOnePlace();
    const first = await limiter.acquire(TARGET, 1);
    const controller = new AbortController();
    const waiting = limiter.acquire(TARGET, 60_000, controller.signal);
    controller.abort(new Error('stopped'));
    await assert.rejects(waiting, /stopped/);
    await assert.rejects(limiter.acquire(TARGET, 60_000, controller.signal), /stopped/);
    first?.release();
    assert.ok(await limiter.acquire(TARGET, 1));
  });

  it('gives a place to an attempt whose wait was over during a standstill, if a response has freed one by then', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const receiver = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [sender] = await accepted;
    try {
      const limiter = withOnePlace();
      const first = await limiter.acquire(TARGET, 1);
      sender.once('data', () => first?.release());
      const waiting = limiter.acquire(TARGET, 20);
      receiver.write('a response');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60);
      assert.ok(await waiting);
    } finally {
      receiver.destroy();
      sender.destroy();
      server.close();
    }
  });
});
