import { sql } from 'kysely';
import { isSettled } from '../../domain/webhooks/attempt-conditions.ts';
import { UNMADE_RETRY, type DeliveryStatus } from '../../domain/webhooks/delivery.ts';
import { recordAudit, type EntityManager, type NewAuditEntry } from '../people/audit.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import type { OverduePage } from './dispatch.ts';
import { notifyDeliveryChanged } from './watched-webhooks.ts';

/*
 * Manual retries for a later time. The state of the row (waiting, started, ended or cancelled) decides whether the retry is
 * made. Its workflow in Temporal is only the timer. Rows stay as long as their delivery.
 */

/** A scheduled retry. `token` names its workflow. `attempts` were recorded when it was requested. */
export type ScheduledRetry = { deliveryId: string; token: string; at: Date; attempts: number };

type RawRetry = { delivery_id: string; token: string; at: string; attempts: number };

const WAITS = sql.raw('started_at is null and cancelled_at is null');

/** Adds to deliveries when their scheduled retry is due; null if there is none, or it will not be made any more. */
export async function addScheduled<
  Row extends { id: string; status: DeliveryStatus; attempts_count: number },
>(database: Database, deliveries: readonly Row[]): Promise<(Row & { scheduled_at: Date | null })[]> {
  const ids = deliveries.map(({ id }) => id);
  const { rows } = await sql<RawRetry>`
    select delivery_id, at, attempts from scheduled_retries
    where delivery_id = any(${ids}::uuid[]) and ${WAITS}
  `.execute(queryBuilderOf(database));
  const retries = new Map(rows.map((retry) => [retry.delivery_id, retry]));
  return deliveries.map((row) => {
    const retry = retries.get(row.id);
    const isPlanned = retry && !isSettled(row, retry.attempts);
    return Object.assign(row, { scheduled_at: isPlanned ? new Date(retry.at) : null });
  });
}

/** Returns whether a retry of the delivery is or was scheduled for this time, and was not cancelled. */
export async function hasRetryAt(database: Database, deliveryId: string, at: Date): Promise<boolean> {
  const { rows } = await sql`
    select from scheduled_retries
    where delivery_id = ${deliveryId}::uuid and at = ${at.toISOString()}::timestamptz and cancelled_at is null
  `.execute(queryBuilderOf(database));
  return rows.length > 0;
}

/**
 * Schedules a retry instead of the one that waits. Returns the token of that one; null if there was none; `'known'`
 * without a change if there is a retry at this time already.
 */
export async function scheduleRetry(
  database: Database,
  { deliveryId, token, at, attempts }: ScheduledRetry,
): Promise<{ replaced: string | null } | 'known'> {
  return await database.em.fork().transactional(async (em) => {
    const db = em.getKysely();
    await lockDelivery(em, deliveryId);
    const { rows: same } = await sql`
      select from scheduled_retries
      where delivery_id = ${deliveryId}::uuid and at = ${at.toISOString()}::timestamptz and cancelled_at is null
    `.execute(db);
    if (same.length > 0) return 'known';
    const replaced = await cancelWaiting(em, deliveryId);
    await sql`
      insert into scheduled_retries (delivery_id, token, at, attempts)
      values (${deliveryId}::uuid, ${token}::uuid, ${at.toISOString()}::timestamptz, ${attempts})
    `.execute(db);
    return { replaced: replaced?.token ?? null };
  });
}

/** Reverts {@link scheduleRetry}, unless the retry was started, cancelled or replaced since. */
export async function unscheduleRetry(
  database: Database,
  { deliveryId, token, replaced }: { deliveryId: string; token: string; replaced: string | null },
): Promise<void> {
  await database.em.fork().transactional(async (em) => {
    const db = em.getKysely();
    await lockDelivery(em, deliveryId);
    const { rows } = await sql`
      delete from scheduled_retries where token = ${token}::uuid and ${WAITS} returning token
    `.execute(db);
    if (rows.length === 0) return;
    await sql`update scheduled_retries set cancelled_at = null where token = ${replaced}::uuid`.execute(db);
  });
}

/** The result of a request to cancel. `earlier`: it was cancelled before. `none`: no retry was scheduled. */
export type CancelOutcome = { kind: 'cancelled'; token: string } | { kind: 'earlier' | 'started' | 'none' };

/** Cancels the scheduled retry of a delivery and writes the audit entry. A retry that has started is not cancelled. */
export async function cancelScheduledRetry(
  database: Database,
  delivery: { id: string; webhook_id: string },
  entry: NewAuditEntry,
): Promise<CancelOutcome> {
  const outcome = await database.em.fork().transactional(async (em): Promise<CancelOutcome> => {
    await lockDelivery(em, delivery.id);
    const cancelled = await cancelWaiting(em, delivery.id);
    if (!cancelled) return { kind: await lastOutcome(em, delivery.id) };
    await recordAudit(em, {
      ...entry,
      detail: { ...entry.detail, scheduled_at: cancelled.at.toISOString() },
    });
    return { kind: 'cancelled', token: cancelled.token };
  });
  if (outcome.kind === 'cancelled') await notifyDeliveryChanged(database, delivery.webhook_id, delivery.id);
  return outcome;
}

/**
 * Starts a scheduled retry: from now on it cannot be cancelled. Returns whether it is to be made. True again if it was
 * started before and its attempt is not recorded, since the worker may have died before the attempt.
 */
export async function startScheduledRetry(database: Database, token: string): Promise<boolean> {
  const { rows } = await sql<{ id: string; webhook_id: string }>`
    update scheduled_retries r set started_at = coalesce(started_at, clock_timestamp()) from deliveries d
    where r.token = ${token}::uuid and r.cancelled_at is null and d.id = r.delivery_id and not exists (
      select from delivery_attempts a where a.delivery_id = r.delivery_id and a.token = r.token)
    returning d.id, d.webhook_id
  `.execute(queryBuilderOf(database));
  const [delivery] = rows;
  if (!delivery) return false;
  await notifyDeliveryChanged(database, delivery.webhook_id, delivery.id);
  return true;
}

/** Records that a scheduled retry was made, or will not be made. Does nothing if it was cancelled. */
export async function endScheduledRetry(database: Database, token: string): Promise<void> {
  await sql`
    update scheduled_retries set ended_at = clock_timestamp()
    where token = ${token}::uuid and cancelled_at is null and ended_at is null
  `.execute(queryBuilderOf(database));
}

/**
 * Marks retries as made that were due before a time and have been made since: workers of an old version make attempts
 * without reading the rows. The clocks of two machines may differ by some seconds.
 */
export async function markMadeRetries(database: Database, before: Date): Promise<void> {
  await sql`
    update scheduled_retries r set started_at = clock_timestamp(), ended_at = clock_timestamp()
    where at < ${before.toISOString()}::timestamptz and ${WAITS} and exists (
      select from delivery_attempts a
      where a.delivery_id = r.delivery_id and a.trigger = 'manual' and a.attempted_at > r.at - interval '5 s')
  `.execute(queryBuilderOf(database));
}

/**
 * Records with the reason of a delivery that a manual retry was not made, and why. Its status stays. Of several such
 * retries, the reason names the last one.
 */
export async function recordUnmadeRetry(
  database: Database,
  delivery: { id: string; webhook_id: string },
  { why, at }: { why: string; at: Date },
): Promise<void> {
  const earlier = `(; |^)${UNMADE_RETRY} .*$`;
  const sentence = `${UNMADE_RETRY} ${at.toISOString()}: ${why}`;
  await sql`
    update deliveries set updated_at = ${at.toISOString()}::timestamptz,
      reason = concat_ws('; ', nullif(regexp_replace(reason, ${earlier}, ''), ''), ${sentence}::text)
    where id = ${delivery.id}::uuid
  `.execute(queryBuilderOf(database));
  await notifyDeliveryChanged(database, delivery.webhook_id, delivery.id);
}

/**
 * Returns retries that were due before a time and have not ended, the longest overdue first. One that has started may wait
 * for a place, or an operator has ended its workflow.
 */
export async function listOverdueRetries(
  database: Database,
  before: Date,
  { after, limit }: OverduePage,
): Promise<ScheduledRetry[]> {
  const rest = after
    ? sql`and (at, token) > (${after.due.toISOString()}::timestamptz, ${after.id}::uuid)`
    : sql``;
  const { rows } = await sql<RawRetry>`
    select delivery_id, token, at, attempts from scheduled_retries
    where at < ${before.toISOString()}::timestamptz and ended_at is null and cancelled_at is null ${rest}
    order by at, token limit ${limit}
  `.execute(queryBuilderOf(database));
  return rows.map(({ delivery_id: deliveryId, token, at, attempts }) => ({
    deliveryId,
    token,
    at: new Date(at),
    attempts,
  }));
}

/** Serializes requests for one delivery. */
async function lockDelivery(em: EntityManager, id: string): Promise<void> {
  await sql`select from deliveries where id = ${id}::uuid for no key update`.execute(em.getKysely());
}

async function cancelWaiting(
  em: EntityManager,
  deliveryId: string,
): Promise<{ token: string; at: Date } | null> {
  const { rows } = await sql<{ token: string; at: string }>`
    update scheduled_retries set cancelled_at = clock_timestamp()
    where delivery_id = ${deliveryId}::uuid and ${WAITS} returning token, at
  `.execute(em.getKysely());
  return rows[0] ? { token: rows[0].token, at: new Date(rows[0].at) } : null;
}

async function lastOutcome(em: EntityManager, deliveryId: string): Promise<'earlier' | 'started' | 'none'> {
  // Tokens are in the order of the requests.
  const { rows } = await sql<{ cancelled: boolean }>`
    select cancelled_at is not null as cancelled from scheduled_retries
    where delivery_id = ${deliveryId}::uuid order by token desc limit 1
  `.execute(em.getKysely());
  if (!rows[0]) return 'none';
  return rows[0].cancelled ? 'earlier' : 'started';
}
