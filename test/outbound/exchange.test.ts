import assert from 'node:assert/strict';
import { EventEmitter, getEventListeners } from 'node:events';
import { createSecureContext } from 'node:tls';
import { openConnection } from '../../src/outbound/connect.ts';
import { connectionOn, createIdleConnections, type Connection } from '../../src/outbound/connection.ts';
import { exchange } from '../../src/outbound/exchange.ts';
import { OutboundFailure } from '../../src/outbound/failure.ts';
import { createTimeLimit, orAborted } from '../../src/outbound/time-limit.ts';
import { useReceiver } from '../support/callback-receiver.ts';
import { post, senders } from './sending.ts';

const REQUEST = { path: '/', headers: {}, body: Buffer.from('{}'), maxResponseBytes: 100 };

describe('an exchange on an open connection', () => {
  const receiver = useReceiver('each test');

  async function open(): Promise<Connection> {
    const { port, origin } = new URL(receiver.url);
    const target = { hostname: '127.0.0.1', port: Number(port), secure: false };
    const route = { secureContext: createSecureContext(), proxy: null };
    const { signal } = new AbortController();
    const opened = await openConnection(target, '127.0.0.1', route, signal);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    return connectionOn(opened, origin);
  }

  it('ends if it was aborted before it begins', async () => {
    receiver.hanging();
    const aborted = AbortSignal.abort(new OutboundFailure('timeout', 'too late'));
    const { failure } = await exchange(await open(), REQUEST, aborted);
    assert.equal(failure?.kind, 'timeout');
  });

  it('leaves nothing at the signal', async () => {
    const { signal } = new AbortController();
    const connection = await open();
    const { response } = await exchange(connection, REQUEST, signal);
    assert.equal(response?.status, 204);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    await connection.client.destroy();
  });
});

describe('the time limit of an attempt', () => {
  const receiver = useReceiver('each test');

  it('is released at the end of the attempt', async () => {
    const { sender, cleanUp } = senders();
    const { signal } = new AbortController();
    assert.equal((await post(sender(), receiver.url, { signal })).outcome, 'succeeded');
    assert.equal((await post(sender(), 'https://', { signal })).outcome, 'failed');
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    await cleanUp();
  });

  it('leaves nothing at the signal of the caller, and no timer', async () => {
    const { signal } = new AbortController();
    const limit = createTimeLimit({ timeoutMs: 1, signal }, () => 'lookup');
    limit.release();
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    // A timer that was left would fire before this one.
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(limit.signal.aborted, false);
  });

  it('leaves nothing at the signal after work that cannot be stopped', async () => {
    const { signal } = new AbortController();
    assert.equal(await orAborted(Promise.resolve(1), signal), 1);
    await new Promise(setImmediate);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });
});

describe('the idle connections', () => {
  it('do not include one that was closed', () => {
    const idle = createIdleConnections();
    const client = Object.assign(new EventEmitter(), { destroyed: false, closed: false });
    const socket = { destroyed: false, writable: true, readable: true, destroy() {} };
    const connection = { address: '192.0.2.1', client, socket } as unknown as Connection;
    const take = () => idle.take('https://example.com', ['192.0.2.2', '192.0.2.1']);
    idle.put('https://example.com', connection);
    assert.equal(take(), connection);
    assert.equal(take(), null, 'it is in use');
    idle.put('https://example.com', connection);
    client.emit('disconnect');
    assert.equal(take(), null);
  });
});
