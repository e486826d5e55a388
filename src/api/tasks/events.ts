import { Readable } from 'node:stream';
import type { FeedEvent } from '../../domain/tasks/feed-events.ts';
import { callbackStatusOf } from '../../domain/tasks/callback.ts';
import { isTerminal } from '../../domain/tasks/task-states.ts';
import { listEventsAfter } from '../../database/tasks/feed.ts';
import type { RunStatus, TaskRunRow } from '../../database/tasks/task-runs.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { watchCredential } from '../http/credential-watch.ts';
import { withHeartbeats } from '../http/heartbeats.ts';
import type { RouteResponse } from '../http/route.ts';
import { createFeedSignal } from './wait.ts';

const BATCH = 500;
/** How often a quiet feed is read again without a notification, in milliseconds. */
const RECHECK_MS = 15_000;
/** How often an ended run with a pending callback is read, in milliseconds. */
const PENDING_CALLBACK_POLL_MS = 1_000;

/**
 * Returns the events of a run after `after`, all of them or at most `limit`, oldest first, as `data` with the last `seq` of the
 * run. All events of a long list are read while they are sent: a run can have hundreds of thousands of them.
 */
export async function respondWithEvents(
  { database }: Pick<Dependencies, 'database'>,
  row: TaskRunRow,
  { after, limit }: { after: number; limit: number | undefined },
): Promise<RouteResponse> {
  const first = await listEventsAfter(database, row.id, after, limit ?? BATCH);
  const lastSeq = Math.max(row.last_seq, first.at(-1)?.seq ?? 0);
  if (limit !== undefined || first.length < BATCH)
    return { status: 200, body: { data: first, last_seq: lastSeq } };
  const stream = Readable.from(listTexts(database, row, first), { objectMode: true });
  return { status: 200, headers: { 'Content-Type': 'application/json; charset=utf-8' }, stream };
}

/** Yields the JSON of a list that begins with these events. */
async function* listTexts(
  database: Dependencies['database'],
  row: TaskRunRow,
  first: readonly FeedEvent[],
): AsyncGenerator<string> {
  yield `{"data":[${textsOf(first)}`;
  let sent = first.at(-1)?.seq ?? 0;
  for (let batch = first; batch.length === BATCH; ) {
    batch = await listEventsAfter(database, row.id, sent, BATCH);
    if (batch.length > 0) yield `,${textsOf(batch)}`;
    sent = batch.at(-1)?.seq ?? sent;
  }
  yield `],"last_seq":${Math.max(row.last_seq, sent)}}`;
}

function textsOf(events: readonly FeedEvent[]): string {
  return events.map((event) => JSON.stringify(event)).join(',');
}

/** Returns true if the feed is complete: the run has ended and its callback is not pending. */
export function isFeedOver(run: RunStatus): boolean {
  return isTerminal(run.state) && callbackStatusOf(run) !== 'pending';
}

/**
 * Returns the events of a run as server-sent events (WHATWG HTML, section 9.2): `id` is the `seq`, `data` the event
 * as JSON. The stream ends after the last event, or when the caller's credential ends.
 */
export function eventStream(deps: Dependencies, stream: FeedStream): Readable {
  return Readable.from(withHeartbeats(streamTexts(deps, stream)), { objectMode: true });
}

/** A stream of the events after `after`. `signal` aborts when the client disconnects. */
type FeedStream = { caller: Caller; executionId: string; after: number; signal: AbortSignal };

async function* streamTexts(
  deps: Dependencies,
  { caller, executionId, after, signal }: FeedStream,
): AsyncGenerator<string> {
  const feedSignal = createFeedSignal(deps, executionId, signal);
  const credential = watchCredential(deps, caller, feedSignal.wake);
  let sent = after;
  try {
    // The first bytes show the client that the stream is open.
    yield ': connected\n\n';
    while (!signal.aborted && (await credential.isValid())) {
      // The status is read first: all events until then are among the events read after it.
      const status = await deps.readRunStatus(executionId);
      const events = await listEventsAfter(deps.database, executionId, sent, BATCH);
      for (const event of events) yield textOf(event);
      sent = events.at(-1)?.seq ?? sent;
      if (!status || (isFeedOver(status) && events.length < BATCH)) return;
      if (events.length > 0) continue;
      await feedSignal.wait(isTerminal(status.state) ? PENDING_CALLBACK_POLL_MS : RECHECK_MS);
    }
  } finally {
    credential.close();
    feedSignal.close();
  }
}

function textOf(event: FeedEvent): string {
  return `id: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`;
}
