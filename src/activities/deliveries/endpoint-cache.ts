import type { Database } from '../../database/database.ts';
import { endpointsNow, endpointsForGroup, type Endpoint } from '../../database/webhooks/endpoints.ts';

/** A webhook as it was at a moment; null where it was deleted. */
export type EndpointSnapshot = { endpoint: Endpoint | null; at: Date };

/** The webhooks that events are matched with, and how they are at the moment of an attempt. */
export type EndpointCache = {
  /**
   * The webhooks of the workspaces that a group of events is from, by workspace, oldest first. Looked up for each
   * group: a webhook that was made before an event came in gets it.
   */
  forGroup(groupId: string): Promise<Map<string, Endpoint[]>>;
  /**
   * A webhook as it is now, to be asked for each attempt, whose time is that of the sight. `now` is the time by the
   * engine's clock.
   */
  current(webhookId: string, now: () => Date): Promise<EndpointSnapshot>;
  /** Has it looked up anew for the next attempt: something happened that may have changed it. */
  invalidate(webhookId: string): void;
};

/** Attempts that begin within so many milliseconds share a look. */
const FRESH_MS = 5;

type Lookup = { since: number; at: Date; endpoints: Promise<Map<string, Endpoint>>; ids: Set<string> };

/** The book over a database. Looks run one at a time, each for all who came meanwhile. */
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
        endpoints: endpointsNow(database, [...ids]),
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
    forGroup: (groupId) => endpointsForGroup(database, groupId),
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
