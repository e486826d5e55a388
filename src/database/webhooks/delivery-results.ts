import { randomUUIDv7 } from 'node:crypto';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { EventKind } from '../../domain/webhooks/event-kinds.ts';
import type { StoredTimings } from '../../domain/webhooks/stored-attempt.ts';
import type { AttemptTrigger, DeliveryStatus } from '../../domain/webhooks/delivery.ts';
import { countFailures, selectCounting } from '../../domain/webhooks/failure-streak.ts';
import { FAILURES_TO_DISABLE } from '../../domain/common/limits.ts';
import { DELIVERY_ATTEMPTS, deliveryWaitMs } from '../../domain/common/retry-schedules.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { nextUuid } from '../common/ids.ts';
import { isDeadlock, isDuplicate, isForeignKeyMissing, retryOnDeadlock } from '../common/outage.ts';
import { CHANNELS } from '../common/notifications.ts';
import { runPrepared } from '../common/prepared.ts';
import { MANY_CHANGED, notificationCte, NOTIFIED } from './watched-webhooks.ts';

/** The columns of a new delivery in addition to its first result. `created_at` is ISO 8601. */
export type NewDelivery = { event_seq: number; event_id: string; event: EventKind; created_at: string };

/** The result of an attempt. Times are ISO 8601. */
export type AttemptResult = {
  delivery_id: string;
  webhook_id: string;
  workspace_id: string;
  /** The delivery's generation when the attempt started. The schedule of another generation does not change. */
  generation: number;
  /** The delivery's failures when the attempt started. A second failure of the same attempt does not count. */
  failures: number;
  /** How often the webhook had been enabled when the attempt started. */
  enabled_count: number;
  trigger: AttemptTrigger;
  /** The id of the request that the attempt was made for; null for an attempt of the schedule. */
  token: string | null;
  /** Set if the delivery's row is to be written with this result. */
  new_delivery: NewDelivery | null;
  succeeded: boolean;
  attempted_at: string;
  completed_at: string;
  url: string;
  /** As stored (`src/domain/webhooks/stored-attempt.ts`). */
  request_headers: Record<string, string>;
  response_status: number | null;
  response_headers: Record<string, string> | null;
  response_body: string | null;
  response_truncated: boolean | null;
  failure: string | null;
  message: string | null;
  address: string | null;
  timings: StoredTimings;
  response_ms: number;
};

/** The state of a delivery after an attempt. */
export type RecordedResult = {
  status: DeliveryStatus;
  generation: number;
  failures: number;
  next_attempt_at: Date | null;
  /** The attempt's number. */
  number: number;
};

/** A webhook that the results disabled. */
export type Disabled = { webhookId: string; at: Date };

/** States of deliveries after their results, by id, and the webhooks that were disabled. */
export type Recorded = { recorded: Map<string, RecordedResult>; disabled: Disabled[] };

/** A database in or outside a transaction. */
type Builder = Kysely<never>;

/**
 * Writes attempts and their consequences in one transaction, at most one attempt for each delivery, in the order they
 * ended: the delivery's status and schedule, the webhook's failure count, and, if that reaches ten, the disabling of
 * the webhook. Repeated if it was rolled back by a deadlock. The caller then holds the webhook's other deliveries with
 * `holdOrCancelWaiting`.
 */
export async function recordResults(
  database: Database,
  results: readonly AttemptResult[],
): Promise<Recorded> {
  const db = queryBuilderOf(database) as unknown as Builder;
  if (results.every(isFirstSuccess)) {
    const recorded = await recordFirstSuccesses(database, results);
    if (recorded) return { recorded, disabled: [] };
  }
  if (results.every(({ succeeded, trigger }) => succeeded && trigger !== 'test')) {
    const statement = resultsStatement(results).compile(db);
    const { rows } = await retryOnDeadlock(() => runPrepared(database, statement));
    return { recorded: byDelivery(rows), disabled: [] };
  }
  const all = db.transaction();
  return await retryOnDeadlock(() =>
    all.execute(async (transaction) => {
      const disabled = await countAttempts(transaction, results);
      const { rows } = await resultsStatement(results).execute(transaction);
      for (const { webhookId, at } of disabled) await notifyOfDisabling(transaction, webhookId, at);
      return { recorded: byDelivery(rows), disabled };
    }),
  );
}

type FirstSuccess = AttemptResult & { new_delivery: NewDelivery };

function isFirstSuccess(result: AttemptResult): result is FirstSuccess {
  return result.succeeded && result.trigger === 'automatic' && result.new_delivery !== null;
}

const FIRST_SUCCESS = {
  number: 1,
  status: 'succeeded',
  generation: 0,
  failures: 0,
  next_attempt_at: null,
} as const;

/**
 * Writes deliveries whose first attempt has succeeded, the most frequent results, without looking for existing rows. Null, and
 * nothing is written, if one of the deliveries exists or one of the webhooks does not, or after a deadlock.
 */
async function recordFirstSuccesses(
  database: Database,
  results: readonly FirstSuccess[],
): Promise<Map<string, RecordedResult> | null> {
  const statement = firstSuccessesStatement(results).compile(queryBuilderOf(database));
  try {
    await runPrepared(database, statement);
  } catch (error) {
    if (isDuplicate(error) || isForeignKeyMissing(error) || isDeadlock(error)) return null;
    throw error;
  }
  return new Map(results.map(({ delivery_id }) => [delivery_id, FIRST_SUCCESS]));
}

/** Returns the results that are recorded already, with the current states of their deliveries. */
export async function findRecordedResults(
  database: Database,
  results: readonly AttemptResult[],
): Promise<Map<string, RecordedResult>> {
  const { rows } = await sql<Row>`
    select d.id, a.number, d.status, d.generation, d.failures, d.next_attempt_at
    from json_to_recordset(${JSON.stringify(results)}::json) as r
      (delivery_id uuid, attempted_at timestamptz(3), "trigger" text, token uuid)
    join delivery_attempts a
      on a.delivery_id = r.delivery_id and a.attempted_at = r.attempted_at and a."trigger" = r."trigger"
        and a.token is not distinct from r.token
    join deliveries d on d.id = a.delivery_id
  `.execute(queryBuilderOf(database));
  return byDelivery(rows);
}

/**
 * Locks the webhooks, counts failures, and disables webhooks whose count reaches the limit. The lock does not wait for
 * inserts of deliveries, which refer to several webhooks in any order: the two could deadlock.
 */
async function countAttempts(db: Builder, results: readonly AttemptResult[]): Promise<Disabled[]> {
  const counting = results.filter(({ trigger }) => trigger !== 'test');
  const ids = [...new Set(counting.map(({ webhook_id }) => webhook_id))];
  if (ids.length === 0) return [];
  const { rows } = await sql<{ id: string; consecutive_failures: number; enabled_count: number }>`
    select id, consecutive_failures, enabled_count from webhooks
    where id = any(${ids}::uuid[]) and disabled_at is null and deleted_at is null order by id for no key update
  `.execute(db);
  const disabled: Disabled[] = [];
  for (const { id, consecutive_failures: before, enabled_count: enabledCount } of rows) {
    const own = selectCounting(
      counting.filter(({ webhook_id }) => webhook_id === id),
      enabledCount,
    );
    const { count, reachedLimit } = countFailures(
      before,
      own.map(({ succeeded }) => succeeded),
      FAILURES_TO_DISABLE,
    );
    if (count === before && !reachedLimit) continue;
    const last = own.findLast(({ succeeded }) => !succeeded);
    const reason = reachedLimit ? reasonOf(last) : null;
    const { rows: changed } = await sql<{ disabled_at: string | null }>`
      update webhooks set consecutive_failures = ${count},
        disabled_at = case when ${reachedLimit}::boolean then clock_timestamp() end,
        disabled_reason = ${reason}::text
      where id = ${id}::uuid returning disabled_at
    `.execute(db);
    const at = changed[0]?.disabled_at;
    if (at) disabled.push({ webhookId: id, at: new Date(at) });
  }
  return disabled;
}

function reasonOf(last: AttemptResult | undefined): string {
  return `${FAILURES_TO_DISABLE} attempts in a row failed. Last failure: ${last?.message ?? 'unknown'}`;
}

/** Notifies watchers, creates a notice for every admin and owner, and writes the audit entry. */
async function notifyOfDisabling(db: Builder, webhookId: string, at: Date): Promise<void> {
  await sql`
    select pg_notify(${CHANNELS.deliveries}, webhook_id || ' ' || ${MANY_CHANGED}::text) from watched_webhooks
    where webhook_id = ${webhookId}::uuid and until > now()
  `.execute(db);
  const { rows } = await sql<{ user_id: string }>`
    select m.user_id from members m join webhooks w on w.workspace_id = m.workspace_id
    where w.id = ${webhookId}::uuid and m.role in ('admin', 'owner')
  `.execute(db);
  const notices = rows.map(({ user_id }) => ({ id: randomUUIDv7(), user_id }));
  await sql`
    insert into notifications (id, workspace_id, user_id, kind, subject, detail, created_at)
    select n.id, w.workspace_id, n.user_id, 'webhook.disabled', 'webhook:' || w.id,
      json_build_object('webhook_id', w.id, 'name', w.name, 'failures', w.consecutive_failures,
        'reason', w.disabled_reason, 'disabled_at', ${at.toISOString()}::text),
      ${at}::timestamptz
    from json_to_recordset(${JSON.stringify(notices)}::json) as n (id uuid, user_id uuid), webhooks w
    where w.id = ${webhookId}::uuid
    on conflict do nothing
  `.execute(db);
  await sql`
    insert into audit_log (id, workspace_id, actor, action, subject, detail, at)
    select ${nextUuid()}::uuid, workspace_id, 'system', 'webhook.disabled', 'webhook:' || id,
      json_build_object('name', name, 'reason', disabled_reason), ${at}::timestamptz
    from webhooks where id = ${webhookId}::uuid
  `.execute(db);
}

/** The status and the reason of a failed delivery of the webhook `w` that is not retried. */
const ASIDE = sql.raw(`
  select case when w.deleted_at is not null then 'cancelled' when w.disabled_at is not null then 'held' end as aside,
    case when w.deleted_at is not null then 'the webhook was deleted'
      when w.disabled_at is not null then 'the webhook is disabled' end as reason`);

const WAITS_MS = Array.from({ length: DELIVERY_ATTEMPTS - 1 }, (_, index) => deliveryWaitMs(index + 1));

type Row = {
  id: string;
  number: number;
  status: DeliveryStatus;
  generation: number;
  failures: number;
  next_attempt_at: string | null;
};

/** Returns the common table expression `result`, a row for each result. */
function resultCte(results: readonly AttemptResult[]): RawBuilder<unknown> {
  const records = results.map(({ new_delivery, ...result }) => ({ ...result, ...new_delivery }));
  return sql`result as (
      select * from json_to_recordset(${JSON.stringify(records)}::json) as result (
        delivery_id uuid, webhook_id uuid, workspace_id uuid, generation integer, failures integer, trigger text, token uuid, succeeded boolean,
        attempted_at timestamptz, completed_at timestamptz, url text, request_headers json,
        response_status integer, response_headers json, response_body text, response_truncated boolean,
        failure text, message text, address text, timings json, response_ms integer,
        event_seq bigint, event_id text, event text, created_at timestamptz)
    )`;
}

/** Sets the failure counts of webhooks to zero. */
const BETTER = sql.raw(`better as (
      update webhooks set consecutive_failures = 0
      where consecutive_failures > 0 and disabled_at is null and id in (
        select webhook_id from result where trigger <> 'test' group by webhook_id having bool_and(succeeded))
    )`);

/** Writes the attempts of the deliveries in `done`. */
const ATTEMPT = sql.raw(`attempt as (
      insert into delivery_attempts
        (delivery_id, number, trigger, token, attempted_at, url, request_headers, response_status, response_headers,
         response_body, response_truncated, failure, message, address, timings, response_ms)
      select d.id, d.number, r.trigger, r.token, r.attempted_at, r.url, r.request_headers, r.response_status,
        r.response_headers, r.response_body, r.response_truncated, r.failure, r.message, r.address, r.timings,
        r.response_ms
      from result r join done d on d.id = r.delivery_id
    )`);

/**
 * Returns the statement of {@link recordFirstSuccesses}. Rows are inserted in the order of their ids, against deadlocks.
 */
function firstSuccessesStatement(results: readonly FirstSuccess[]) {
  return sql`
    with ${resultCte(results)}, ${BETTER}, done as (
      insert into deliveries
        (id, workspace_id, webhook_id, event_seq, event_id, event, status, attempts_count, response_status, response_ms,
         created_at, updated_at)
      select delivery_id, workspace_id, webhook_id, event_seq, event_id, event, 'succeeded', 1, response_status,
        response_ms, created_at, completed_at
      from result order by delivery_id
      returning id, webhook_id, attempts_count as number
    ), ${notificationCte('done')}, ${ATTEMPT}
    select ${NOTIFIED} as notified`;
}

/**
 * Returns the statement that writes deliveries, attempts and the counts that a success sets to zero. A failure moves
 * the schedule only if it is the automatic attempt that the current generation waits for. A manual attempt never removes
 * a success or a schedule. If the webhook is disabled or deleted by now, a delivery that has retries left is held or
 * cancelled instead of retried: `countAttempts` has waited for that change. The first result of a delivery without a row
 * inserts it. Any other result of a delivery without a row is left out: the delivery was deleted.
 *
 * Rows are found through their index only, one by one: a join would read the whole table with a plan from when it was small.
 * They are locked in the order of their ids, against deadlocks.
 */
function resultsStatement(results: readonly AttemptResult[]) {
  return sql<Row>`
    with ${resultCte(results)}, ${BETTER}, known as (
      select d.* from (select delivery_id from result where created_at is null order by delivery_id) as r
      cross join lateral (
        select id, event_seq, event_id, event, created_at from deliveries where id = r.delivery_id for no key update
      ) as d
    ), done as (
      insert into deliveries as d
        (id, workspace_id, webhook_id, event_seq, event_id, event, status, reason, generation, failures,
         attempts_count, next_attempt_at, response_status, failure, response_ms, created_at, updated_at)
      select r.delivery_id, r.workspace_id, r.webhook_id, coalesce(r.event_seq, known.event_seq),
        coalesce(r.event_id, known.event_id), coalesce(r.event, known.event),
        case when r.succeeded then 'succeeded' else coalesce(put.aside, 'retrying') end,
        case when not r.succeeded then put.reason end,
        (not r.succeeded and put.aside is not null)::integer, (not r.succeeded)::integer, 1,
        case when not r.succeeded and put.aside is null
          then r.completed_at + make_interval(secs => (${WAITS_MS}::integer[])[1] / 1000.0) end,
        r.response_status, r.failure, r.response_ms, coalesce(r.created_at, known.created_at), r.completed_at
      from result r left join known on known.id = r.delivery_id join webhooks w on w.id = r.webhook_id,
        lateral (${ASIDE}) as put
      where r.created_at is not null or known.id is not null
      order by r.delivery_id
      on conflict (id) do update set
        (attempts_count, failures, status, generation, next_attempt_at, reason, in_backlog, response_status, failure,
         response_ms, updated_at) = (
          select d.attempts_count + 1,
            d.failures + moves::integer,
            case
              when r.succeeded then 'succeeded'
              when r.trigger = 'test' then 'failed'
              when not moves then d.status
              when d.failures + 1 >= ${DELIVERY_ATTEMPTS}::integer then 'failed'
              when is_aside then excluded.status
              else 'retrying' end,
            d.generation + (moves and is_aside)::integer,
            case
              when r.succeeded or r.trigger = 'test' then null
              when moves and is_aside then null
              when moves then r.completed_at
                + make_interval(secs => (${WAITS_MS}::integer[])[d.failures + 1] / 1000.0)
              when r.trigger = 'manual' and d.status <> 'retrying' then null
              else d.next_attempt_at end,
            case
              when r.succeeded or r.trigger = 'test' then null
              when moves and is_aside then excluded.reason
              else d.reason end,
            d.in_backlog and not (r.succeeded or moves),
            r.response_status, r.failure, r.response_ms, r.completed_at
          from result r, lateral (
            select r.trigger = 'automatic' and not r.succeeded and d.generation = r.generation
                and d.failures = r.failures and d.status in ('pending', 'retrying') as moves,
              excluded.reason is not null and d.failures + 1 < ${DELIVERY_ATTEMPTS}::integer as is_aside
          ) as decided
          where r.delivery_id = d.id)
      returning d.id, d.webhook_id, d.attempts_count as number, d.status, d.generation, d.failures, d.next_attempt_at
    ), ${notificationCte('done')}, ${ATTEMPT}
    select id, number, status, generation, failures, next_attempt_at, ${NOTIFIED} as notified from done`;
}

function byDelivery(rows: readonly Row[]): Map<string, RecordedResult> {
  return new Map(
    rows.map(({ id, number, status, generation, failures, next_attempt_at: next }) => [
      id,
      { number, status, generation, failures, next_attempt_at: next === null ? null : new Date(next) },
    ]),
  );
}
