import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { createWebhookLoader } from '../../src/activities/deliveries/webhook-loader.ts';
import type { DeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import type { WebhookTarget } from '../../src/database/webhooks/webhook-targets.ts';
import type { DeliveryProgress } from '../../src/domain/webhooks/attempt-conditions.ts';

const NOW = () => new Date('2026-01-31T12:00:00.000Z');

describe('the loader of webhooks', () => {
  /** Milliseconds that have passed. */
  let passed = 0;
  beforeEach(() => {
    passed = 0;
    mock.method(performance, 'now', () => passed);
  });
  afterEach(() => mock.reset());

  /** Returns a loader, and the ids of each read. The first reads fail. */
  function open({ failures = 0, deleted = [] as string[], whileListing = async () => {} } = {}) {
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
      async listTargetsForGroups(groupIds: readonly string[]) {
        reads.push({ webhooks: groupIds.map((id) => `those of ${id}`), deliveries: [] });
        await whileListing();
        return new Map([['a workspace', [{ id: 'w1', deleted_at: null } as WebhookTarget]]]);
      },
    } as Partial<DeliveryStore> as DeliveryStore;
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

  it('shares the read for groups with the attempts of the same moment', async () => {
    const { loader, reads } = open();
    const at = new Date('2026-01-31T11:59:59.000Z');
    await loader.loadForGroups(['g1'], at);
    assert.deepEqual(await loader.loadCurrent('w1', NOW, null), {
      endpoint: { id: 'w1', deleted_at: null },
      at,
      delivery: null,
    });
    assert.deepEqual(reads, [{ webhooks: ['those of g1'], deliveries: [] }]);
    await loader.loadCurrent('w1', NOW, 'd1');
    await loader.loadCurrent('w2', NOW, null);
    assert.deepEqual(reads.slice(1), [
      { webhooks: ['w1'], deliveries: ['d1'] },
      { webhooks: ['w2'], deliveries: [] },
    ]);
  });

  it('does not share a read for groups with a webhook that was forgotten during the read', async () => {
    const { loader, reads } = open({ whileListing: async () => loader.forget('w1') });
    await loader.loadForGroups(['g1'], NOW());
    await loader.loadCurrent('w1', NOW, null);
    assert.equal(reads.length, 2);
  });

  it('reads a webhook again after a moment', async () => {
    const { loader, reads } = open();
    await loader.loadForGroups(['g1'], NOW());
    passed = 5;
    await loader.loadCurrent('w1', NOW, null);
    assert.equal(reads.length, 2);
  });

  it('reads again after an error', async () => {
    const { loader } = open({ failures: 1 });
    await assert.rejects(loader.loadCurrent('w1', NOW, 'd1'), /no connection/);
    const { endpoint, delivery } = await loader.loadCurrent('w1', NOW, 'd1');
    assert.deepEqual([endpoint?.id, delivery?.status], ['w1', 'pending']);
  });
});
