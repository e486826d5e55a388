import type { DeliveryStore } from '../../database/webhooks/delivery-store.ts';
import type { WebhookTarget } from '../../database/webhooks/webhook-targets.ts';
import type { DeliveryProgress } from '../../domain/webhooks/attempt-conditions.ts';

/**
 * A webhook at a point in time; null if it was deleted. `delivery` is null if it was deleted, or was not requested.
 */
export type TargetSnapshot = {
  endpoint: WebhookTarget | null;
  at: Date;
  delivery: DeliveryProgress | null;
};

/** Reads webhooks for matching, and their current state for attempts. */
export type WebhookLoader = {
  /**
   * Returns the webhooks of the workspaces of the groups' events, by workspace, oldest first. Read for each dispatch,
   * so that a webhook gets every event accepted after its creation. `at` is the current time by Temporal's clock: attempts
   * that start within a moment need no other lookup.
   */
  loadForGroups(groupIds: readonly string[], at: Date): Promise<Map<string, WebhookTarget[]>>;
  /**
   * Returns the current state of a webhook, and of a delivery if its id is given. Called for each attempt, whose time is
   * that of the snapshot. `now` returns the time by Temporal's clock.
   */
  loadCurrent(webhookId: string, now: () => Date, deliveryId: string | null): Promise<TargetSnapshot>;
  /** Makes the next attempt read the webhook again, since it may have changed. */
  forget(webhookId: string): void;
};

/** Attempts that start within this time share a lookup, in milliseconds. Then it is forgotten. */
const FRESH_MS = 5;

type Lookup = { since: number; at: Date; rows: Promise<Rows>; ids: Set<string> };
type Rows = { endpoints: Map<string, WebhookTarget>; deliveries: Map<string, DeliveryProgress> };

/** Creates the loader. Lookups run one at a time, each for everything requested since the last one began. */
export function createWebhookLoader(store: DeliveryStore): WebhookLoader {
  let running: Promise<unknown> = Promise.resolve();
  let next: PromiseWithResolvers<Lookup> | null = null;
  const requested = { webhooks: new Set<string>(), deliveries: new Set<string>() };
  const fresh = new Map<string, Lookup>();
  /** For each load for groups in progress, the webhooks that were forgotten since it began. It does not share them. */
  const loads = new Set<Set<string>>();

  function share(lookup: Lookup): void {
    for (const id of lookup.ids) fresh.set(id, lookup);
    // So that idle webhooks do not stay in memory. A busy process can be late with this.
    setTimeout(() => {
      for (const id of lookup.ids) if (fresh.get(id) === lookup) fresh.delete(id);
    }, FRESH_MS);
  }

  function scheduleLookup(now: () => Date): PromiseWithResolvers<Lookup> {
    const soon = Promise.withResolvers<Lookup>();
    running = running.then(async () => {
      const ids = new Set(requested.webhooks);
      const lookup = {
        since: performance.now(),
        at: now(),
        rows: readRows([...ids], [...requested.deliveries]),
        ids,
      };
      requested.webhooks.clear();
      requested.deliveries.clear();
      next = null;
      soon.resolve(lookup);
      share(lookup);
      await lookup.rows.catch(() => {});
    });
    return soon;
  }

  async function readRows(webhooks: string[], deliveries: string[]): Promise<Rows> {
    const [endpoints, progress] = await Promise.all([
      store.readTargets(webhooks),
      deliveries.length === 0 ? new Map<string, DeliveryProgress>() : store.readProgress(deliveries),
    ]);
    return { endpoints, deliveries: progress };
  }

  function freshLookup(webhookId: string): Lookup | null {
    const lookup = fresh.get(webhookId);
    return lookup && performance.now() - lookup.since < FRESH_MS ? lookup : null;
  }

  return {
    async loadForGroups(groupIds, at) {
      const since = performance.now();
      const forgotten = new Set<string>();
      loads.add(forgotten);
      const targets = await store.listTargetsForGroups(groupIds).finally(() => loads.delete(forgotten));
      const found = [...targets.values()].flat().filter(({ id }) => !forgotten.has(id));
      const endpoints = new Map(found.map((endpoint) => [endpoint.id, endpoint]));
      const rows = Promise.resolve({ endpoints, deliveries: new Map<string, DeliveryProgress>() });
      share({ since, at, rows, ids: new Set(endpoints.keys()) });
      return targets;
    },
    async loadCurrent(webhookId, now, deliveryId) {
      let lookup = deliveryId === null ? freshLookup(webhookId) : null;
      if (!lookup) {
        requested.webhooks.add(webhookId);
        if (deliveryId !== null) requested.deliveries.add(deliveryId);
        next ??= scheduleLookup(now);
        lookup = await next.promise;
      }
      const { endpoints, deliveries } = await lookup.rows;
      const endpoint = endpoints.get(webhookId);
      const delivery = deliveryId === null ? undefined : deliveries.get(deliveryId);
      return {
        endpoint: endpoint && endpoint.deleted_at === null ? endpoint : null,
        at: lookup.at,
        delivery: delivery ?? null,
      };
    },
    forget(webhookId) {
      fresh.delete(webhookId);
      for (const forgotten of loads) forgotten.add(webhookId);
    },
  };
}
