import { Readable } from 'node:stream';
import type { FeedEvent } from '../../domain/tasks/feed-events.ts';
import { isTerminal } from '../../domain/tasks/task-states.ts';
import { listEventsAfter } from '../../database/tasks/feed.ts';
import { findRun, type TaskRunRow } from '../../database/tasks/task-runs.ts';
import type { Dependencies } from '../dependencies.ts';
import { createBell } from './wait.ts';

const BATCH = 500;
/** A comment keeps proxies from closing a quiet stream. */
const HEARTBEAT_MS = 15_000;
/** How often a run is looked at that has ended and whose callback is still on its way. */
const SETTLING_LOOK_MS = 1_000;

/** All events of a run behind `after`, the oldest first. */
export async function allEvents(
  deps: Dependencies,
  row: TaskRunRow,
  after: number,
): Promise<{ data: FeedEvent[]; last_seq: number }> {
  const data: FeedEvent[] = [];
  for (let batch: FeedEvent[] = []; data.length === 0 || batch.length === BATCH; ) {
    batch = await listEventsAfter(deps.database, row.id, data.at(-1)?.seq ?? after, BATCH);
    data.push(...batch);
    if (batch.length === 0) break;
  }
  return { data, last_seq: Math.max(row.last_seq, data.at(-1)?.seq ?? 0) };
}

/** True where nothing will come behind what the row counts: the run has ended and its callback is settled. */
export function isFeedOver(row: TaskRunRow): boolean {
  return isTerminal(row.state) && row.callback_status !== 'pending';
}

/**
 * The events of a run as server-sent events (WHATWG HTML, section 9.2): `id` is the `seq`, `data` the event as
 * JSON. The stream ends by itself behind the last event.
 */
export function eventStream(
  deps: Dependencies,
  executionId: string,
  after: number,
  signal: AbortSignal,
): Readable {
  return Readable.from(streamTexts(deps, executionId, after, signal), { objectMode: true });
}

async function* streamTexts(
  deps: Dependencies,
  executionId: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const bell = createBell(deps, executionId, signal);
  let sent = after;
  try {
    // The first bytes tell the client that the stream stands.
    yield ': connected\n\n';
    while (!signal.aborted) {
      // The row first: what it counts is then surely among the events that are read after it.
      const row = await findRun(deps.database, executionId);
      const events = await listEventsAfter(deps.database, executionId, sent, BATCH);
      for (const event of events) yield textOf(event);
      sent = events.at(-1)?.seq ?? sent;
      if (!row || (isFeedOver(row) && events.length < BATCH)) return;
      if (events.length > 0) continue;
      const beaten = performance.now();
      await bell.rings(isTerminal(row.state) ? SETTLING_LOOK_MS : HEARTBEAT_MS);
      if (performance.now() - beaten >= HEARTBEAT_MS - 1) yield ': still here\n\n';
    }
  } finally {
    bell.close();
  }
}

function textOf(event: FeedEvent): string {
  return `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`;
}
