import { setImmediate } from 'node:timers/promises';
import { listRecentEvents } from '../../database/webhooks/events.ts';
import type { Database } from '../../database/database.ts';
import type { EventKind } from '../../domain/webhooks/event-kinds.ts';
import { dataOf } from '../../domain/webhooks/event-payload.ts';
import { RECENT_EVENTS } from '../../domain/common/limits.ts';

/** A recent event with its parsed data. */
export type RecentEvent = {
  id: string;
  event: EventKind;
  timestamp: Date;
  words: string;
  data: Record<string, unknown>;
};

/** Returns the latest events of a workspace, newest first. */
export type ReadRecentEvents = (workspaceId: string) => Promise<readonly RecentEvent[]>;

/**
 * Creates the reader of recent events. For each workspace, there is one read at a time, and concurrent callers share its
 * result: a hundred payloads of up to a megabyte each take time and memory. After each payload, other requests get their turn.
 */
export function createRecentEvents(database: Database): ReadRecentEvents {
  const reading = new Map<string, Promise<readonly RecentEvent[]>>();
  return (workspaceId) => {
    const known = reading.get(workspaceId);
    if (known) return known;
    const read = readEvents(database, workspaceId).finally(() => reading.delete(workspaceId));
    reading.set(workspaceId, read);
    return read;
  };
}

async function readEvents(database: Database, workspaceId: string): Promise<RecentEvent[]> {
  const events: RecentEvent[] = [];
  for (const { body, ...event } of await listRecentEvents(database, workspaceId, RECENT_EVENTS)) {
    events.push({ ...event, data: dataOf(body) });
    await setImmediate();
  }
  return events;
}
