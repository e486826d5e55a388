import { randomUUIDv7 } from 'node:crypto';
import type { Database } from '../../database/database.ts';
import { insertGroup, type KnownEvent, type NewEvent } from '../../database/webhooks/events.ts';
import { isDatabaseOutage } from '../../database/common/outage.ts';
import type { Starter } from '../starter.ts';
import type { GroupToStart } from './group-starter.ts';
import { conflictOf } from './prepare.ts';

/** The result of a request: the ids of its events that were already accepted, or the reason why it was not accepted. */
export type StoreResult = { accepted: ReadonlySet<string> } | { error: unknown };

export type GroupStoreDependencies = {
  database: Database;
  starter: Pick<Starter<GroupToStart>, 'add'>;
  clock: () => Date;
};

/** Stores groups of requests, and hands them to the starter. */
export function createGroupStore({ database, starter, clock }: GroupStoreDependencies) {
  /** Stores the requests together. Each is accepted or rejected separately. */
  async function storeTogether(requests: readonly (readonly NewEvent[])[]): Promise<StoreResult[]> {
    const id = randomUUIDv7();
    const known = await insertGroup(database, { id, now: clock(), requests });
    const knownOf = Map.groupBy(known, ({ request }) => request);
    const stored: NewEvent[] = [];
    const results = requests.map((request, index) => {
      const result = resultOf(knownOf.get(index) ?? []);
      if ('accepted' in result) stored.push(...request.filter((event) => !result.accepted.has(event.id)));
      return result;
    });
    if (stored.length > 0) {
      const bytes = stored.reduce((sum, { body }) => sum + body.length, 0);
      const workspaces = [...new Set(stored.map(({ workspaceId }) => workspaceId))];
      const traceparent = stored[0]?.traceparent ?? null;
      starter.add({ id, events: stored.length, bytes, workspaces, traceparent });
    }
    return results;
  }

  async function storeAlone(request: readonly NewEvent[]): Promise<StoreResult[]> {
    return await storeTogether([request]).catch((error: unknown) => [{ error }]);
  }

  return {
    /** Returns the result of each request. An event id may occur in only one of them. */
    async store(requests: readonly (readonly NewEvent[])[]): Promise<StoreResult[]> {
      try {
        return await storeTogether(requests);
      } catch (error) {
        if (requests.length === 1 || isDatabaseOutage(error)) throw error;
        // A bad request must not fail the others.
        return (await Promise.all(requests.map(storeAlone))).flat();
      }
    },
  };
}

export type GroupStore = ReturnType<typeof createGroupStore>;

function resultOf(known: readonly KnownEvent[]): StoreResult {
  const conflicts = known.filter(({ isSame }) => !isSame).map(({ id }) => id);
  if (conflicts.length > 0) return { error: conflictOf(conflicts) };
  return { accepted: new Set(known.map(({ id }) => id)) };
}
