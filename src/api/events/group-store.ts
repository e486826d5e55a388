import { randomUUIDv7 } from 'node:crypto';
import type { Database } from '../../database/database.ts';
import { insertGroups, type KnownEvent, type NewEvent } from '../../database/webhooks/events.ts';
import { isDatabaseOutage } from '../../database/common/outage.ts';
import { groupRequests } from '../../domain/webhooks/dispatch-batches.ts';
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
    const groups = groupRequests(requests).map((indexes) => ({ id: randomUUIDv7(), indexes }));
    const groupOf = new Map(groups.flatMap(({ id, indexes }) => indexes.map((index) => [index, id])));
    const given = requests.map((events, index) => ({ groupId: groupOf.get(index) ?? '', events }));
    const known = await insertGroups(database, { now: clock(), requests: given });
    const knownOf = Map.groupBy(known, ({ request }) => request);
    const results = requests.map((_, index) => resultOf(knownOf.get(index) ?? []));
    for (const { id, indexes } of groups) {
      const stored = indexes.flatMap((index) => storedOf(requests[index] ?? [], results[index]));
      if (stored.length > 0) starter.add(groupToStart(id, stored));
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

/** Returns the events of a request that the statement has inserted. */
function storedOf(request: readonly NewEvent[], result: StoreResult | undefined): readonly NewEvent[] {
  if (result === undefined || 'error' in result) return [];
  return request.filter(({ id }) => !result.accepted.has(id));
}

function groupToStart(id: string, events: readonly NewEvent[]): GroupToStart {
  return {
    id,
    events: events.length,
    bytes: events.reduce((sum, { body }) => sum + body.length, 0),
    workspaces: [...new Set(events.map(({ workspaceId }) => workspaceId))],
    traceparent: events[0]?.traceparent ?? null,
  };
}

function resultOf(known: readonly KnownEvent[]): StoreResult {
  const conflicts = known.filter(({ isSame }) => !isSame).map(({ id }) => id);
  if (conflicts.length > 0) return { error: conflictOf(conflicts) };
  return { accepted: new Set(known.map(({ id }) => id)) };
}
