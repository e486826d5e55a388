import assert from 'node:assert/strict';
import { createWebhookLoader } from '../../src/activities/deliveries/webhook-loader.ts';
import type { DeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import type { WebhookTarget } from '../../src/database/webhooks/webhook-targets.ts';
import type { DeliveryProgress } from '../../src/domain/webhooks/attempt-conditions.ts';

const NOW = () => new Date('2026-01-31T12:00:00.000Z');

describe('the loader of webhooks', () => {
  /** Returns a loader, and the ids of each read. The first reads fail. */
  function open({ failures = 0, deleted = [] as string[] } = {}) {
    const reads: { webhooks: string[]; deliveries: string[] }[] = [];
    const store = {
      async readTargets(ids: readonly string[]) {
        reads.push({ webhooks: [...ids], deliveries: [] });
        if (reads.length <= failures) throw new Error('no connection');
        const targetOf = (id: string) => ({ id, deleted_at: deleted.includes(id) ? NOW() : null });
        return new Map(ids.map((id) => [id, targetOf(id) as WebhookTarget]));
      },
      async readProgress(ids: readonly string[]) {
        reads.at(-1)?.deliveries.push(...ids);
        return new Map(ids.map((id) => [id, { status: 'pending' } as DeliveryProgress]));
      },
    } as Pick<DeliveryStore, 'readTargets' | 'readProgress'> as DeliveryStore;
    return { loader: createWebhookLoader(store), reads };
  }

  it('reads at once what concurrent attempts need, and only that', async () => {
    const { loader, reads } = open({ deleted: ['w2'] });
    const found = await Promise.all([
      loader.loadCurrent('w1', NOW, null),
      loader.loadCurrent('w1', NOW, 'd1'),
      loader.loadCurrent('w2', NOW, 'd2'),
    ]);
    assert.deepEqual(
      found.map(({ endpoint, delivery }) => [endpoint?.id, delivery?.status]),
      [
        ['w1', undefined],
        ['w1', 'pending'],
        [undefined, 'pending'],
      ],
    );
    await loader.loadCurrent('w1', NOW, 'd3');
    assert.deepEqual(reads, [
      { webhooks: ['w1', 'w2'], deliveries: ['d1', 'd2'] },
      { webhooks: ['w1'], deliveries: ['d3'] },
    ]);
  });

  it('reads a webhook again that it has forgotten, and a delivery each time', async () => {
    const { loader, reads } = open();
    await loader.loadCurrent('w1', NOW, null);
    loader.forget('w1');
    await loader.loadCurrent('w1', NOW, null);
    await loader.loadCurrent('w1', NOW, 'd1');
    assert.equal(reads.length, 3);
  });

  it('reads again after an error', async () => {
    const { loader } = open({ failures: 1 });
    await assert.rejects(loader.loadCurrent('w1', NOW, 'd1'), /no connection/);
    const { endpoint, delivery } = await loader.loadCurrent('w1', NOW, 'd1');
    assert.deepEqual([endpoint?.id, delivery?.status], ['w1', 'pending']);
  });
});
