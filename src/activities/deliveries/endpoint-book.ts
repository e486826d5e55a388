import type { Database } from '../../database/database.ts';
import { endpointsNow, endpointsForGroup, type Endpoint } from '../../database/webhooks/endpoints.ts';

/** A webhook as it was at a moment; null where it was deleted. */
export type Sight = { endpoint: Endpoint | null; at: Date };

/** The webhooks that events are matched with, and how they are at the moment of an attempt. */
export type EndpointBook = {
  /**
   * The webhooks of the workspaces that a group of events is from, by workspace, oldest first. Looked up for each
   * group: a webhook that was made before an event came in gets it.
   */
  forGroup(groupId: string): Promise<Map<string, Endpoint[]>>;
  /**
   * A webhook as it is now, to be asked for each attempt, whose time is that of the sight. `now` is the time by the
   * engine's clock.
   */
  current(webhookId: string, now: () => Date): Promise<Sight>;
  /** Has it looked up anew for the next attempt: something happened that may have changed it. */
  forget(webhookId: string): void;
};

/** Attempts that begin within so many milliseconds share a look. */
const FRESH_MS = 5;

type Look = { since: number; at: Date; endpoints: Promise<Map<string, Endpoint>>; ids: Set<string> };

/** The book over a database. Looks run one at a time, each for all who came meanwhile. */
export function createEndpointBook(database: Database): EndpointBook {
  let running: Promise<unknown> = Promise.resolve();
  let next: PromiseWithResolvers<Look> | null = null;
  const wanted = new Set<string>();
  const fresh = new Map<string, Look>();

  function lookSoon(now: () => Date): PromiseWithResolvers<Look> {
    const soon = Promise.withResolvers<Look>();
    running = running.then(async () => {
      const ids = new Set(wanted);
      wanted.clear();
      next = null;
      const look = { since: performance.now(), at: now(), endpoints: endpointsNow(database, [...ids]), ids };
      soon.resolve(look);
      for (const id of ids) fresh.set(id, look);
      await look.endpoints.catch(() => {});
    });
    return soon;
  }

  function freshLook(webhookId: string): Look | null {
    const look = fresh.get(webhookId);
    if (!look) return null;
    if (performance.now() - look.since < FRESH_MS) return look;
    for (const id of look.ids) if (fresh.get(id) === look) fresh.delete(id);
    return null;
  }

  return {
    forGroup: (groupId) => endpointsForGroup(database, groupId),
    async current(webhookId, now) {
      let look = freshLook(webhookId);
      if (!look) {
        wanted.add(webhookId);
        next ??= lookSoon(now);
        look = await next.promise;
      }
      const endpoint = (await look.endpoints).get(webhookId);
      return { endpoint: endpoint && endpoint.deleted_at === null ? endpoint : null, at: look.at };
    },
    forget(webhookId) {
      fresh.delete(webhookId);
    },
  };
}
