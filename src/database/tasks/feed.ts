import type { InferEntity } from '@mikro-orm/core';
import { sql } from 'kysely';
import { ACTIVE_STATES, isReportedByCallback, type TaskState } from '../../domain/tasks/task-states.ts';
import { keepReached, positionOf, type Reached } from '../../domain/tasks/reached-state.ts';
import type { FeedEvent } from '../../domain/tasks/feed-events.ts';
import type { RecordOutcome, RunChange, Writer } from '../../domain/tasks/run-change.ts';
import type { RunView } from '../../domain/tasks/run-schemas.ts';
import { callbackBody } from '../../domain/tasks/callback.ts';
import { storableJson } from '../../domain/common/text.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { TaskEvent, TaskRun } from './entities.ts';
import { runPrepared } from '../common/prepared.ts';
import { CHANNELS } from '../common/notifications.ts';

/**
 * Writes a change and its events in one statement. Each new event gets the next `seq` of its run. Events with an
 * existing key are skipped, and a run that has ended never changes. A change without new events is a repeat after a
 * crash. It only ends a pause made in the Web UI and returns the `seq` of the first write, since the run may have
 * continued. A change of an outdated writer is not written. Listeners are notified at commit. Characters that PostgreSQL cannot store are removed: agents may send any
 * text. The result contains the `history` of the change.
 *
 * @throws if a later workflow task has written the run, and the change has events that are not recorded
 */
export async function recordChange(database: Database, given: RunChange): Promise<RecordOutcome> {
  const outcome = await writeOnce(database, storableJson(given));
  return outcome.outcome === 'recorded' && given.history ? { ...outcome, history: given.history } : outcome;
}

async function writeOnce(database: Database, change: RunChange): Promise<RecordOutcome> {
  const lastSeq = await writeChange(database, change, null);
  if (lastSeq !== null) return { outcome: 'recorded', lastSeq };
  const reached = await findReached(database, change.executionId);
  const kept = reached === null ? change : keepReached(change, reached);
  if (kept !== change) return await writeOnce(database, kept);
  const { enginePauseOver, entries } = change;
  // The end of a pause may come with events that were recorded before, in a task that Temporal lost.
  if (enginePauseOver === true && entries.length > 0)
    await writeChange(database, { ...change, view: null, entries: [] }, null);
  return await outcomeOfUnwritten(database, change);
}

/** Returns how far a run has come; null if it does not exist. */
async function findReached(database: Database, id: string): Promise<Reached | null> {
  const row = await database.em
    .fork()
    .findOne(TaskRun, { id }, { fields: ['state', 'paused_from', 'steps', 'started_at'] });
  if (row === null) return null;
  const { state, paused_from, steps, started_at } = row;
  return { state, paused_from: paused_from ?? null, steps, started_at: started_at?.toISOString() ?? null };
}

/**
 * Writes a change that another process than the worker of the run has made from the view with the number `viewSeq`,
 * unless the view has changed since. Returns whether it was written.
 */
export async function recordChangeOfView(
  database: Database,
  change: RunChange,
  viewSeq: number,
): Promise<boolean> {
  return (await writeChange(database, storableJson(change), viewSeq)) !== null;
}

/**
 * Writes a change of a run that has not ended, and returns its last `seq`. Returns null and writes nothing if all
 * events are recorded already, if the run has ended or does not exist, if its view is not `viewSeq` (null: any), if the
 * writer is outdated, or if the run has come further, see {@link keepReached}.
 */
async function writeChange(
  database: Database,
  change: RunChange,
  viewSeq: number | null,
): Promise<number | null> {
  const db = queryBuilderOf(database);
  const { view, executionId } = change;
  const enginePauseOver = change.enginePauseOver === true;
  const onlyEndsPause = enginePauseOver && change.entries.length === 0;
  const set =
    view !== null
      ? viewColumns({ ...change, view }, enginePauseOver)
      : enginePauseOver
        ? sql`, engine_paused_at = null`
        : sql``;
  const statement = sql<{ last_seq: number }>`
    with entry as (
      select * from rows from (
        json_to_recordset(${JSON.stringify(change.entries)}::json)
          as (key text, type text, at timestamptz, data json)
      ) with ordinality as entry (key, type, at, data, position)
    ), fresh as (
      select entry.*, row_number() over (order by position) as place from entry
      where not exists (
        select 1 from task_events e where e.execution_id = ${executionId}::uuid and e.key = entry.key
      )
    ), run as (
      update task_runs
      set last_seq = last_seq + (select count(*) from fresh), updated_at = now(),
        last_writer = coalesce(${change.writer ? JSON.stringify(change.writer) : null}::json, last_writer) ${set}
      where id = ${executionId}::uuid and completed_at is null
        and (${viewSeq}::integer is null or view_seq = ${viewSeq}::integer)
        and (exists (select 1 from fresh) or ${onlyEndsPause}::boolean)
        and not ${isOutdated(change.writer)}
        and array_position(${sql.raw(`array['${ACTIVE_STATES.join("','")}']`)}, coalesce(paused_from, state)) - 1
          <= ${view === null ? ACTIVE_STATES.length : Math.min(positionOf(view), ACTIVE_STATES.length)}::integer
      returning last_seq
    ), written as (
      insert into task_events (execution_id, seq, key, type, at, data)
      select ${executionId}::uuid, run.last_seq - (select count(*) from fresh) + place, key, type, at, data
      from fresh, run
    )
    select last_seq, pg_notify(${CHANNELS.feed}, ${executionId}) from run
  `.compile(db);
  const { rows } = await runPrepared(database, statement);
  return rows[0]?.last_seq ?? null;
}

/**
 * Returns the condition that a later workflow task has written the run. A worker that was frozen, or cut off, runs its task to
 * the end, although Temporal has given it to another worker and refuses the result of this one. After a reset in the Web UI,
 * the workflow is another execution, which may know less.
 */
function isOutdated(writer: Writer | undefined) {
  const { runId = null, events = null } = writer ?? {};
  const isSame = sql`last_writer ->> 'runId' = ${runId}::text and (last_writer ->> 'events')::integer > ${events}::integer`;
  return sql`coalesce(${isSame} or last_writer ->> 'continuedFrom' = ${runId}::text, false)`;
}

/** Returns the events of a run with a `seq` above `after`, in order, at most `limit`. */
export async function listEventsAfter(
  database: Database,
  executionId: string,
  after: number,
  limit: number,
): Promise<FeedEvent[]> {
  const rows = await database.em
    .fork()
    .find(TaskEvent, { execution_id: executionId, seq: { $gt: after } }, { orderBy: { seq: 'asc' }, limit });
  return rows.map(eventOf);
}

/** Returns the last events of some types up to the event `last`, at most `limit`, oldest first. */
export async function listLastEventsOf(
  database: Database,
  executionId: string,
  { types, last, limit }: { types: readonly FeedEvent['type'][]; last: number; limit: number },
): Promise<FeedEvent[]> {
  if (limit === 0) return [];
  const rows = await database.em
    .fork()
    .find(
      TaskEvent,
      { execution_id: executionId, type: { $in: [...types] }, seq: { $lte: last } },
      { orderBy: { seq: 'desc' }, limit },
    );
  return rows.map(eventOf).toReversed();
}

/** Returns the event in a row. */
export function eventOf(row: InferEntity<typeof TaskEvent>): FeedEvent {
  const { seq, type, execution_id, data } = row;
  return { seq, type, execution_id, at: row.at.toISOString(), data };
}

/** Returns the highest number after `prefix` among the keys of a run's events; 0 if there is none. */
export async function findLastProgress(
  database: Database,
  executionId: string,
  prefix: string,
): Promise<number> {
  const { rows } = await sql<{ last: number | null }>`
    select max(substr(key, ${prefix.length + 1}::integer)::integer) as last from task_events
    where execution_id = ${executionId}::uuid and starts_with(key, ${prefix})
  `.execute(queryBuilderOf(database));
  return rows[0]?.last ?? 0;
}

/** Returns the milliseconds that a run was paused in the Temporal Web UI since `since`. A pause in progress is not counted. */
export async function readEnginePausedMs(
  database: Database,
  executionId: string,
  since: Date,
): Promise<number> {
  const { rows } = await sql<{ ms: number }>`
    select coalesce(sum(extract(epoch from over.at - greatest(pause.at, ${since.toISOString()}::timestamptz)) * 1000), 0)
      ::double precision as ms
    from task_events pause
    join task_events over on over.execution_id = pause.execution_id
      and over.key = 'engine-pause-over:' || substr(pause.key, length('engine-pause:') + 1)
    where pause.execution_id = ${executionId}::uuid and starts_with(pause.key, 'engine-pause:')
      and over.at > ${since.toISOString()}::timestamptz
  `.execute(queryBuilderOf(database));
  return rows[0]?.ms ?? 0;
}

/** A position in a feed: after the event `after` of a run. */
export type FeedPosition = { executionId: string; after: number };
/** An event and its age when it was read, in milliseconds by the database's clock. */
export type AgedEvent = { event: FeedEvent; ageMs: number };

/** Returns the events after each position, in order, at most `limit` each; one statement. */
export async function listEventsAfterPositions(
  database: Database,
  positions: readonly FeedPosition[],
  limit: number,
): Promise<AgedEvent[][]> {
  const statement = sql<{
    place: number;
    seq: number;
    type: FeedEvent['type'];
    at: string;
    data: FeedEvent['data'];
    age_ms: number;
  }>`
    select place::integer, event.*
    from unnest(${positions.map(({ executionId }) => executionId)}::uuid[], ${positions.map(({ after }) => after)}::integer[])
      with ordinality as wanted (id, after, place)
    cross join lateral (
      select seq, type, at, data,
        (extract(epoch from clock_timestamp() - written_at) * 1000)::double precision as age_ms
      from task_events where execution_id = wanted.id and seq > wanted.after
      order by seq limit ${limit}
    ) as event
    order by place, seq
  `.compile(queryBuilderOf(database));
  const { rows } = await runPrepared(database, statement);
  const found: AgedEvent[][] = positions.map(() => []);
  for (const { place, seq, type, at, data, age_ms: ageMs } of rows) {
    const execution_id = positions[place - 1]?.executionId ?? '';
    const event = { seq, type, execution_id, at: new Date(at).toISOString(), data };
    found[place - 1]?.push({ event, ageMs });
  }
  return found;
}

/** Returns the ids of the runs whose feed has events after these positions. */
export async function findFeedsAhead(
  database: Database,
  positions: readonly FeedPosition[],
): Promise<Set<string>> {
  const statement = sql<{ id: string }>`
    select run.id
    from unnest(${positions.map(({ executionId }) => executionId)}::uuid[], ${positions.map(({ after }) => after)}::integer[])
      as known (id, after)
    join task_runs run on run.id = known.id and run.last_seq > known.after
  `.compile(queryBuilderOf(database));
  const { rows } = await runPrepared(database, statement);
  return new Set(rows.map(({ id }) => id));
}

/**
 * Returns the assignments of the columns of a view. During a pause made in the Web UI, a change that was in flight when
 * the pause began is stored, but the state stays `paused` until the run ends or the pause is over.
 */
function viewColumns(change: RunChange & { view: Omit<RunView, 'last_seq'> }, enginePauseOver: boolean) {
  const { executionId, view, plan } = change;
  const enginePausedAt = change.enginePausedAt ?? null;
  const ends = view.completed_at !== null;
  const holds = sql`(engine_paused_at is not null and ${!(ends || enginePauseOver)}::boolean and state = 'paused')`;
  const sendsCallback = ends && isReportedByCallback(view.state);
  return sql`,
    view_seq = last_seq + (select count(*) from fresh),
    state = case when ${holds} then state else ${view.state} end,
    paused_from = case when ${holds} then paused_from else ${view.paused_from} end,
    paused_at = case when ${holds} then paused_at else ${view.paused_at}::timestamptz end,
    paused_by = case when ${holds} then paused_by else ${view.paused_by} end,
    paused_ms = ${view.paused_ms},
    steps = ${keepingCompleted(view)},
    plan = coalesce(${plan ? JSON.stringify(plan) : null}::json, plan),
    started_at = ${view.started_at}::timestamptz,
    completed_at = ${view.completed_at}::timestamptz,
    duration_ms = ${view.duration_ms},
    output = ${view.output === null ? null : JSON.stringify(view.output)}::json,
    errors = ${JSON.stringify(view.errors)}::json,
    escalation = ${view.escalation === null ? null : JSON.stringify(view.escalation)}::json,
    question = ${view.question ? JSON.stringify(view.question) : null}::json,
    engine_paused_at = case when ${ends || enginePauseOver}::boolean then null
      else coalesce(${enginePausedAt}::timestamptz, engine_paused_at) end,
    engine_pause_signalled = engine_pause_signalled
      and coalesce(engine_paused_at = ${enginePausedAt}::timestamptz, ${enginePausedAt === null}::boolean),
    callback_status = case when callback_url is null or ${ends && !sendsCallback}::boolean then 'none' else callback_status end,
    callback_body = case when callback_url is not null and ${sendsCallback}::boolean
      then ${sendsCallback ? callbackBody(executionId, view) : null} end`;
}

/**
 * Returns the steps of a view, but keeps steps that were recorded as completed before and are not completed in it. A
 * workflow may not know them for a while, if Temporal has lost the task that recorded them and repeats it after other
 * messages. If these messages come before the workflow has planned again, it knows no steps at all. Then all recorded steps
 * stay, closed if the run ends.
 */
function keepingCompleted({ steps, completed_at: endedAt }: Pick<RunView, 'steps' | 'completed_at'>) {
  const stepsJson = JSON.stringify(steps);
  const completed = steps.flatMap(({ id, status }) => (status === 'completed' ? [id] : []));
  const closed = sql`(step::jsonb || case step ->> 'status'
    when 'running' then jsonb_build_object('status', 'cancelled', 'completed_at', ${endedAt}::text)
    when 'pending' then '{"status": "skipped"}'
    else '{}' end)::json`;
  return sql`case
      when exists (
        select 1 from json_array_elements(steps) as earlier (step)
        where step ->> 'status' = 'completed' and step ->> 'id' <> all(${completed}::text[])
      )
      then coalesce((
        select json_agg(coalesce(earlier.step, reported.step) order by reported.position)
        from json_array_elements(${stepsJson}::json) with ordinality as reported (step, position)
        left join json_array_elements(steps) as earlier (step)
          on earlier.step ->> 'id' = reported.step ->> 'id' and earlier.step ->> 'status' = 'completed'
      ), (
        select json_agg(${endedAt === null ? sql`step` : closed} order by position)
        from json_array_elements(steps) with ordinality as earlier (step, position)
      ))
      else ${stepsJson}::json end`;
}

/**
 * Returns why a change was not written: it was written before, the run has ended, or the run does not exist.
 *
 * @throws if the writer is outdated. Temporal refuses the result of its workflow task, so nobody needs an outcome.
 */
async function outcomeOfUnwritten(database: Database, change: RunChange): Promise<RecordOutcome> {
  const result = await sql<{
    state: TaskState;
    ended: boolean;
    last_seq: number;
    view_seq: number;
    seq: number | null;
    known: number;
  }>`
    select state, completed_at is not null as ended, last_seq, view_seq, recorded.*
    from task_runs, lateral (
      select max(seq) as seq, count(*)::integer as known from task_events
      where execution_id = id and key = any(${change.entries.map((entry) => entry.key)}::text[])
    ) as recorded
    where id = ${change.executionId}::uuid
  `.execute(queryBuilderOf(database));
  const row = result.rows[0];
  if (!row) return { outcome: 'missing' };
  const sameEnd = change.view?.completed_at != null && change.view.state === row.state;
  if (row.ended && !sameEnd) return { outcome: 'ended', state: row.state, lastSeq: row.last_seq };
  if (!row.ended && row.known < change.entries.length)
    throw new Error(`another worker has repeated this workflow task of the run ${change.executionId}`);
  // A view without events is as new as the one in the row: the run has come that far already.
  const lastSeq = row.seq ?? (change.view === null ? row.last_seq : row.view_seq);
  return { outcome: 'recorded', lastSeq };
}
