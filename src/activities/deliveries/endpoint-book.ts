import { endpointsNow, endpointsOf, type Endpoint } from '../../database/endpoints.ts';
import type { Database } from '../../database/connect.ts';
import type { Notifications } from '../../database/notifications.ts';

/** The webhooks of workspaces, as far as possible without asking the database. */
export type EndpointBook = {
  /** All webhooks of a workspace that are not deleted. */
  ofWorkspace(workspaceId: string): Promise<readonly Endpoint[]>;
  /** A webhook as it is now, to be asked right before each attempt; null where it is deleted. */
  current(webhookId: string, workspaceId: string): Promise<Endpoint | null>;
};

/** For how long a workspace is believed to be unchanged when nothing is heard of it, in milliseconds. */
const BELIEVED_MS = 30_000;
const MOST = 5_000;

/**
 * Remembers the webhooks of workspaces; the database tells, by a trigger, when one has changed. A webhook with a
 * failure behind it is looked up for every attempt, since its disabling may be on the way here: then no attempt
 * starts after the disabling is committed. While the database can not be heard, every webhook is.
 */
export function createEndpointBook(
  database: Database,
  notifications: Notifications,
  clock: () => Date,
): EndpointBook {
  const known = new Map<string, { endpoints: Promise<Endpoint[]>; until: number }>();
  const forget = notifications.subscribe('webhooks', null, (id) => {
    if (id === '*') known.clear();
    else known.delete(id);
  });
  void forget;
  const lookUps = createLookUps(database);

  async function ofWorkspace(workspaceId: string): Promise<readonly Endpoint[]> {
    const now = clock().getTime();
    const page = known.get(workspaceId);
    if (page && now < page.until && notifications.isHearing()) return await page.endpoints;
    if (known.size >= MOST) known.clear();
    const endpoints = endpointsOf(database, workspaceId);
    known.set(workspaceId, { endpoints, until: now + BELIEVED_MS });
    // One that failed, or that may have been told of while it was under way, is not to be believed.
    endpoints.catch(() => known.delete(workspaceId));
    return await endpoints;
  }

  return {
    ofWorkspace,
    async current(webhookId, workspaceId) {
      const listed = (await ofWorkspace(workspaceId)).find(({ id }) => id === webhookId);
      const isSound = listed?.consecutive_failures === 0 && listed.disabled_at === null;
      if (listed && isSound && notifications.isHearing()) return listed;
      const now = await lookUps.find(webhookId);
      return now && now.deleted_at === null ? now : null;
    },
  };
}

/** Look-ups of single webhooks, those asked for at the same moment in one statement. */
function createLookUps(database: Database) {
  let next: { ids: Set<string>; found: Promise<Map<string, Endpoint>> } | null = null;
  return {
    async find(id: string): Promise<Endpoint | null> {
      if (next === null) {
        const ids = new Set<string>();
        const found = Promise.resolve().then(() => {
          next = null;
          return endpointsNow(database, [...ids]);
        });
        next = { ids, found };
      }
      next.ids.add(id);
      return (await next.found).get(id) ?? null;
    },
  };
}
