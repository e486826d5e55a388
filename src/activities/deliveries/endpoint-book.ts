import type { Database } from '../../database/connect.ts';
import { endpointsNow, endpointsOf, type Endpoint } from '../../database/endpoints.ts';

/** The webhooks that events are matched with, and how they are at the moment of an attempt. */
export type EndpointBook = {
  /**
   * All webhooks of workspaces that are not deleted, by workspace, oldest first. Looked up for each group: a webhook
   * that was made before an event came in gets it.
   */
  ofWorkspaces(workspaceIds: readonly string[]): Promise<Map<string, Endpoint[]>>;
  /**
   * A webhook as it is now, looked up for each attempt, so that none starts after a disabling is committed; null
   * where it is deleted.
   */
  current(webhookId: string): Promise<Endpoint | null>;
};

/** The book over a database. Look-ups of single webhooks run one at a time, each for all who came meanwhile. */
export function createEndpointBook(database: Database): EndpointBook {
  let running: Promise<unknown> = Promise.resolve();
  let next: { ids: Set<string>; found: Promise<Map<string, Endpoint>> } | null = null;

  function lookUp(): NonNullable<typeof next> {
    const ids = new Set<string>();
    const found = running.then(() => {
      next = null;
      return endpointsNow(database, [...ids]);
    });
    running = found.catch(() => {});
    return { ids, found };
  }

  return {
    ofWorkspaces: (workspaceIds) => endpointsOf(database, workspaceIds),
    async current(webhookId) {
      next ??= lookUp();
      next.ids.add(webhookId);
      const endpoint = (await next.found).get(webhookId);
      return endpoint && endpoint.deleted_at === null ? endpoint : null;
    },
  };
}
