import { sql } from 'kysely';
import { derivedUuid } from '../ids/derived-uuid.ts';
import { deliveryWaitMs, DELIVERY_ATTEMPTS } from '../domain/retry-schedules.ts';
import { statements, type Database } from './connect.ts';

/** How the attempts of a webhook went; test deliveries are not among them. */
export type WebhookStats = {
  /** One for each hour of the span, oldest first. */
  hours: { succeeded: number; failed: number }[];
  /** When the last delivery was attempted, be it before the span. */
  lastDeliveryAt: Date | null;
};

const HOUR_MS = 3_600_000;

/** How long after its beginning a delivery may still be attempted by its schedule, with room for slow attempts. */
const SCHEDULE_MS = Array.from({ length: DELIVERY_ATTEMPTS }, (_, n) => deliveryWaitMs(n) ?? 0).reduce(
  (sum, wait) => sum + wait,
  HOUR_MS,
);

/** Counts the attempts that began in the `hours` before `to`; null where the workspace has no such webhook. */
export async function webhookStats(
  database: Database,
  { workspaceId, webhookId }: { workspaceId: string; webhookId: string },
  { hours, to }: { hours: number; to: Date },
): Promise<WebhookStats | null> {
  const from = new Date(to.getTime() - hours * HOUR_MS);
  const known = await sql<{ last_delivery_at: string | null }>`
    select (
      select max(attempted_at) from delivery_attempts where delivery_id = (
        select id from deliveries
        where webhook_id = webhooks.id and attempts_count > 0 and not test
        order by id desc limit 1)
    ) as last_delivery_at
    from webhooks
    where id = ${webhookId}::uuid and workspace_id = ${workspaceId}::uuid and deleted_at is null
  `.execute(statements(database));
  const [webhook] = known.rows;
  if (!webhook) return null;
  const counts = await hourlyCounts(database, webhookId, { from, to });
  const byHour = new Map(counts.map(({ hour, succeeded, failed }) => [hour, { succeeded, failed }]));
  return {
    hours: Array.from({ length: hours }, (_, hour) => byHour.get(hour) ?? { succeeded: 0, failed: 0 }),
    lastDeliveryAt: latest([webhook.last_delivery_at, ...counts.map(({ last }) => last)]),
  };
}

/** An old delivery may have been attempted later than the newest one. */
function latest(times: readonly (string | null)[]): Date | null {
  const known = times.filter((time) => time !== null).map((time) => Date.parse(time));
  return known.length === 0 ? null : new Date(Math.max(...known));
}

/**
 * Attempts have no index by time, which every attempt would have to pay for. So the deliveries are found first: those
 * young enough for their schedule by their ids, which are in the order of time; the few older ones that began anew or
 * were retried by hand by indexes that hold nothing else.
 */
async function hourlyCounts(database: Database, webhookId: string, { from, to }: { from: Date; to: Date }) {
  const youngest = derivedUuid(new Date(from.getTime() - SCHEDULE_MS), '').slice(0, 13);
  // Not prepared: a plan that does not know the span would read all attempts.
  const { rows } = await sql<{ hour: number; succeeded: number; failed: number; last: string }>`
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
      max(a.attempted_at) as last
    from asked, delivery d join delivery_attempts a on a.delivery_id = d.id
    where a.attempted_at >= since and a.attempted_at < until
    group by hour
  `.execute(statements(database));
  return rows;
}
