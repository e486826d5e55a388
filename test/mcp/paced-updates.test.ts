import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { pino } from 'pino';
import { createFeed, type FeedDependencies } from '../../src/api/mcp/subscriptions.ts';
import type { McpRequest } from '../../src/api/mcp/mcp-request.ts';
import { eventually } from '../support/eventually.ts';

const URIS = ['baton://tasks/run-1', 'baton://tasks/run-1/events'];
const CHANGES = 10_000;
/** As many as a stream may have, and those that its buffers hold. */
const MOST = 150;

describe('the notifications of a subscription', () => {
  it('wait for a client that does not read, and then come once for each resource', async () => {
    let change = () => {};
    const deps = {
      notifications: {
        subscribe: (_: string, id: string, listener: () => void) => {
          if (id === 'run-1') change = listener;
          return () => {};
        },
      },
      clock: () => new Date(0),
    } as unknown as FeedDependencies;
    const request = {
      caller: { kind: 'key', keyId: 'key-1' },
      log: pino({ level: 'silent' }),
      requestId: 'request-1',
    } as unknown as McpRequest;
    const subscription = { id: 1, runs: new Map([['run-1', URIS]]) };
    const { bus, follow } = createFeed(deps, subscription, request, () => {});

    // As the SDK does: it stores every notification until the client reads it.
    const published: string[] = [];
    const stored = new ReadableStream<Uint8Array>({
      start(controller) {
        bus.subscribe((event) => {
          if (event.kind !== 'resource_updated') return;
          published.push(event.uri);
          controller.enqueue(Buffer.from(`${event.uri}\n`));
        });
      },
    });
    const reader = follow(new Response(stored)).body?.getReader();
    assert.ok(reader);
    for (let changes = 0; changes < CHANGES; changes += 1) change();
    await eventually('the first notifications are published', () => published.length > 0);
    assert.ok(published.length < MOST, `${published.length} notifications wait`);

    const first = published.length;
    for (let read = 0; read < first; read += 1) assert.equal((await reader.read()).done, false);
    await eventually('the rest is published', () => published.length > first);
    assert.deepEqual(published.slice(first).toSorted(), URIS);
    await reader.cancel();
  });

  it('end with the credential, although nothing changes, and leave nothing behind', async () => {
    mock.timers.enable({ apis: ['setInterval'] });
    try {
      const subscribed = new Set<string>();
      let now = 0;
      const deps = {
        notifications: {
          subscribe(channel: string, id: string) {
            subscribed.add(`${channel} ${id}`);
            return () => void subscribed.delete(`${channel} ${id}`);
          },
        },
        clock: () => new Date(now),
      } as unknown as FeedDependencies;
      const request = {
        caller: {
          kind: 'token',
          claims: { origin: 'own', subject: 'key:key-1', sessionId: null, expiresAt: new Date(20_000) },
        },
        log: pino({ level: 'silent' }),
        requestId: 'request-1',
      } as unknown as McpRequest;
      let ends = 0;
      const runs = new Map([
        ['run-1', URIS],
        ['run-2', ['baton://tasks/run-2']],
      ]);
      const { bus } = createFeed(deps, { runs }, request, () => (ends += 1));
      const stop = bus.subscribe(() => {});
      assert.deepEqual([...subscribed].toSorted(), ['credentials key-1', 'feed run-1', 'feed run-2']);
      now = 20_000;
      mock.timers.tick(15_000);
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(ends, 1);
      stop();
      now = 40_000;
      mock.timers.tick(60_000);
      await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual([...subscribed, ends], [1]);
    } finally {
      mock.timers.reset();
    }
  });
});
