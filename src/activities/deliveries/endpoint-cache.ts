import type { Database } from '../../database/database.ts';
import { readEndpoints, listEndpointsForGroups, type Endpoint } from '../../database/webhooks/endpoints.ts';

/** A webhook at a point in time; null if it was deleted. */
export type EndpointSnapshot = { endpoint: Endpoint | null; at: Date };

/** Reads webhooks for matching, and their current state for attempts. */
export type EndpointCache = {
  /**
   * Returns the webhooks of the workspaces of the groups' events, by workspace, oldest first. Read for each dispatch,
   * so that a webhook gets every event accepted after its creation.
   */
  forGroups(groupIds: readonly string[]): Promise<Map<string, Endpoint[]>>;
  /**
   * Returns the current state of a webhook. Called for each attempt, whose time is that of the snapshot. `now` returns
   * the time by Temporal's clock.
   */
  current(webhookId: string, now: () => Date): Promise<EndpointSnapshot>;
  /** Makes the next attempt read the webhook again, since it may have changed. */
  invalidate(webhookId: string): void;
};

/** Attempts that start within this time share a lookup, in milliseconds. */
const FRESH_MS = 5;

type Lookup = { since: number; at: Date; endpoints: Promise<Map<string, Endpoint>>; ids: Set<string> };

/** Creates the cache. Lookups run one at a time, each for all webhooks requested since the last one began. */
export function createEndpointCache(database: Database): EndpointCache {
  let running: Promise<unknown> = Promise.resolve();
  let next: PromiseWithResolvers<Lookup> | null = null;
  const requested = new Set<string>();
  const fresh = new Map<string, Lookup>();

  function scheduleLookup(now: () => Date): PromiseWithResolvers<Lookup> {
    const soon = Promise.withResolvers<Lookup>();
    running = running.then(async () => {
      const ids = new Set(requested);
      requested.clear();
      next = null;
      const lookup = {
        since: performance.now(),
        at: now(),
        endpoints: readEndpoints(database, [...ids]),
        ids,
      };
      soon.resolve(lookup);
      for (const id of ids) fresh.set(id, lookup);
      await lookup.endpoints.catch(() => {});
    });
    return soon;
  }

  function freshLookup(webhookId: string): Lookup | null {
    const lookup = fresh.get(webhookId);
    if (!lookup) return null;
    if (performance.now() - lookup.since < FRESH_MS) return lookup;
    for (const id of lookup.ids) if (fresh.get(id) === lookup) fresh.delete(id);
    return null;
  }

  return {
    forGroups: (groupIds) => listEndpointsForGroups(database, groupIds),
    async current(webhookId, now) {
      let lookup = freshLookup(webhookId);
      if (!lookup) {
        requested.add(webhookId);
        next ??= scheduleLookup(now);
        lookup = await next.promise;
      }
      const endpoint = (await lookup.endpoints).get(webhookId);
      return { endpoint: endpoint && endpoint.deleted_at === null ? endpoint : null, at: lookup.at };
    },
    invalidate(webhookId) {
      fresh.delete(webhookId);
    },
  };
}
