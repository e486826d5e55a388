import assert from 'node:assert/strict';
import { createBatcher } from '../../src/api/events/batcher.ts';
import type { StoreResult } from '../../src/api/events/group-store.ts';
import { Problem } from '../../src/api/http/problem.ts';
import type { NewEvent } from '../../src/database/webhooks/events.ts';

const ACCEPTED: StoreResult = { accepted: new Set() };
const BODY = 'x'.repeat(1_048_576);

/** Returns an event of one MiB. All share one text. */
function event(id: number): NewEvent {
  const fixed = { workspaceId: 'workspace', event: 'issue.created', hash: '', words: '' } as const;
  return { ...fixed, id: String(id), timestamp: '2026-01-31T12:00:00.000Z', body: BODY };
}

describe('the events that wait to be stored', () => {
  it('are stored in groups of at most 512 KiB, except larger requests', async () => {
    const groups: { sizes: number[]; stored: PromiseWithResolvers<void> }[] = [];
    const batcher = createBatcher({
      async store(requests): Promise<StoreResult[]> {
        const stored = Promise.withResolvers<void>();
        groups.push({ sizes: requests.flat().map(({ body }) => body.length), stored });
        await stored.promise;
        return requests.map(() => ACCEPTED);
      },
    });
    const sizes = [1, 1_048_576, 200_000, 300_000, 300_000, 1_000_000];
    const adding = sizes.map((size, id) => batcher.add([{ ...event(id), body: BODY.slice(0, size) }]));
    for (let next = 0; next < 5; next += 1) {
      while (groups.length <= next) await new Promise(setImmediate);
      groups[next]?.stored.resolve();
    }
    await Promise.all(adding);
    assert.deepEqual(
      groups.map((group) => group.sizes),
      [[1], [1_048_576], [200_000, 300_000], [300_000], [1_000_000]],
    );
    await batcher.close();
  });

  it('are stored at once as soon as they are a hundred, while another group is being stored', async () => {
    const groups: number[] = [];
    const stored = Promise.withResolvers<void>();
    const batcher = createBatcher(
      {
        async store(requests): Promise<StoreResult[]> {
          groups.push(requests.flat().length);
          await stored.promise;
          return requests.map(() => ACCEPTED);
        },
      },
      undefined,
      () => 0,
    );
    const few = (first: number, count: number) =>
      batcher.add(Array.from({ length: count }, (_, index) => ({ ...event(first + index), body: 'x' })));
    const adding = [few(0, 1), few(1, 60), few(61, 39)];
    assert.deepEqual(groups, [1], 'ninety-nine wait');
    adding.push(few(100, 1));
    assert.deepEqual(groups, [1, 100]);
    stored.resolve();
    await Promise.all(adding);
    await batcher.close();
  });

  it('are limited to 128 MiB, and stored events do not count', async () => {
    const stores: PromiseWithResolvers<void>[] = [];
    const batcher = createBatcher({
      async store(requests): Promise<StoreResult[]> {
        const stored = Promise.withResolvers<void>();
        stores.push(stored);
        await stored.promise;
        return requests.map(() => ACCEPTED);
      },
    });
    // Two groups are being stored, and 128 events wait.
    const accepted = Array.from({ length: 130 }, (_, id) => batcher.add([event(id)]));
    assert.equal(stores.length, 2);
    assert.throws(
      () => batcher.add([event(130)]),
      (error: unknown) => error instanceof Problem && error.code === 'unavailable',
    );
    for (let next = 0; next < 130; next += 1) {
      stores[next]?.resolve();
      await accepted[next];
    }
    const last = batcher.add([event(131)]);
    stores.at(-1)?.resolve();
    await last;
    await batcher.close();
  });
});
