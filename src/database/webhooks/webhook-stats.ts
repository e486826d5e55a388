import { sql } from 'kysely';
import { derivedUuid } from '../common/ids.ts';
import { deliveryWaitMs, DELIVERY_ATTEMPTS } from '../../domain/common/retry-schedules.ts';
import { queryBuilderOf, type Database } from '../database.ts';

/** The current state of a webhook, without test deliveries. */
export type WebhookHealth = {
  /** When the newest delivery was last attempted. */
  lastDeliveryAt: Date | null;
  /** The result of the newest delivery that was attempted. */
  last: LastOutcome | null;
  /** Deliveries that wait for the webhook to be enabled and recovered; counted up to {@link MAX_HELD}. */
  held: number;
  /** When the next retry is due. */
  nextAttemptAt: Date | null;
};

/** Results of a webhook's attempts in a time span, without test deliveries. */
export type WebhookHours = {
  /** The end of the span. */
  to: Date;
  /** One for each hour of the span, oldest first. */
  hours: HourStats[];
  /** When the last attempt in the span began. */
  lastAttemptAt: Date | null;
};

/** A timeout counts with its time: the response would have taken longer. */
type HourStats = { succeeded: number; failed: number; p95Ms: number | null };
type LastOutcome = {
  delivery_id: string;
  response_status: number | null;
  failure: string | null;
  response_ms: number | null;
};

/** Limit of the count of held deliveries. */
export const MAX_HELD = 10_000;
/** Number of retrying deliveries among which the next retry is searched. */
const MAX_RETRYING = 1_000;
const QUIET_HOUR: HourStats = { succeeded: 0, failed: 0, p95Ms: null };

const HOUR_MS = 3_600_000;

/**
 * Longest time after its creation in which the schedule attempts a delivery, plus an hour for slow attempts, in
 * milliseconds.
 */
const SCHEDULE_MS = Array.from({ length: DELIVERY_ATTEMPTS }, (_, n) => deliveryWaitMs(n) ?? 0).reduce(
  (sum, wait) => sum + wait,
  HOUR_MS,
);

/** Returns the current state of a webhook; null if the workspace has no such webhook. */
export async function readWebhookHealth(
  database: Database,
  { workspaceId, webhookId }: { workspaceId: string; webhookId: string },
): Promise<WebhookHealth | null> {
  const known = await sql<HealthRow>`
    select
      last.delivery_id, last.response_status, last.failure, last.response_ms,
      (select max(attempted_at) from delivery_attempts a where a.delivery_id = last.delivery_id) as last_delivery_at,
      (select count(*)::integer from (
        select from deliveries where webhook_id = webhooks.id and status = 'held' limit ${MAX_HELD}
      ) as waiting) as held,
      (select min(next_attempt_at) from (
        select next_attempt_at from deliveries where webhook_id = webhooks.id and status = 'retrying'
        order by id desc limit ${MAX_RETRYING}
      ) as retrying) as next_attempt_at
    from webhooks left join lateral (
      select id as delivery_id, response_status, failure, response_ms from deliveries
      where webhook_id = webhooks.id and attempts_count > 0 and not test
      order by id desc limit 1
    ) as last on true
    where webhooks.id = ${webhookId}::uuid and workspace_id = ${workspaceId}::uuid and deleted_at is null
  `.execute(queryBuilderOf(database));
  const [webhook] = known.rows;
  if (!webhook) return null;
  return {
    lastDeliveryAt: dateOf(webhook.last_delivery_at),
    last: lastOf(webhook),
    held: webhook.held,
    nextAttemptAt: dateOf(webhook.next_attempt_at),
  };
}

type HealthRow = {
  delivery_id: string | null;
  response_status: number | null;
  failure: string | null;
  response_ms: number | null;
  last_delivery_at: string | null;
  held: number;
  next_attempt_at: string | null;
};

function lastOf({ delivery_id, response_status, failure, response_ms }: HealthRow): LastOutcome | null {
  return delivery_id === null ? null : { delivery_id, response_status, failure, response_ms };
}

function dateOf(time: string | null): Date | null {
  return time === null ? null : new Date(time);
}

/**
 * Counts the attempts of a webhook that started in the `hours` before `to`, about 5 µs for each.
 *
 * Attempts have no index by time, since it would slow down every attempt. So the deliveries are found first: those
 * young enough for their schedule by their ids, which follow time; the few older ones that restarted or were retried
 * manually by indexes of only such rows.
 */
export async function readWebhookHours(
  database: Database,
  webhookId: string,
  { hours, to }: { hours: number; to: Date },
): Promise<WebhookHours> {
  const from = new Date(to.getTime() - hours * HOUR_MS);
  const youngest = derivedUuid(new Date(from.getTime() - SCHEDULE_MS), '').slice(0, 13);
  // Not prepared: a plan without the time span would read all attempts.
  const { rows } = await sql<Counted>`
    with asked as (
      select ${from.toISOString()}::timestamptz as since, ${to.toISOString()}::timestamptz as until
    ), delivery as (
      select id from deliveries
      where webhook_id = ${webhookId}::uuid and id >= ${`${youngest}-0000-0000-000000000000`}::uuid
        and attempts_count > 0 and not test
      union
      select id from deliveries, asked
      where webhook_id = ${webhookId}::uuid and generation > 0 and updated_at >= since and not test
      union
      select d.id from asked, delivery_attempts a join deliveries d on d.id = a.delivery_id
      where a.trigger = 'manual' and a.attempted_at >= since and d.webhook_id = ${webhookId}::uuid and not d.test
    )
    select floor(extract(epoch from a.attempted_at - since) / 3600)::integer as hour,
      (count(*) filter (where a.failure is null))::integer as succeeded,
      (count(*) filter (where a.failure is not null))::integer as failed,
      (percentile_disc(0.95) within group (order by a.response_ms)
        filter (where a.response_status is not null or a.failure = 'timeout'))::integer as p95_ms,
      max(a.attempted_at) as last
    from asked, delivery d join delivery_attempts a on a.delivery_id = d.id
    where a.attempted_at >= since and a.attempted_at < until
    group by hour
  `.execute(queryBuilderOf(database));
  const byHour = new Map(
    rows.map(({ hour, succeeded, failed, p95_ms: p95Ms }) => [hour, { succeeded, failed, p95Ms }]),
  );
  return {
    to,
    hours: Array.from({ length: hours }, (_, hour) => byHour.get(hour) ?? QUIET_HOUR),
    // The last hour with attempts contains the last attempt.
    lastAttemptAt: dateOf(rows.toSorted((one, other) => other.hour - one.hour)[0]?.last ?? null),
  };
}

type Counted = { hour: number; succeeded: number; failed: number; p95_ms: number | null; last: string };
