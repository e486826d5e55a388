import { sql } from 'kysely';
import { queryBuilderOf, type Database } from '../database.ts';
import { runPrepared } from '../common/prepared.ts';
import { recordAudit, type NewAuditEntry } from '../people/audit.ts';

/*
 * Manual retries that are due now. A row waits until its attempt was recorded, or cannot be made. One workflow for each
 * webhook makes them. Rows stay as long as their delivery, so that a repeated request finds its token.
 */

/** A manual retry. `token` is the id of the request. `attempts` were recorded when it was requested. */
export type ManualRetry = { deliveryId: string; token: string; attempts: number };

/** A manual retry that waits. `position` is in the order of requests. `isMade`: its attempt is recorded. */
type WaitingRetry = ManualRetry & { position: number; isMade: boolean };

/** Stores a manual retry with its audit entry. Does nothing if its token is known. */
export async function requestManualRetry(
  database: Database,
  { deliveryId, token, attempts }: ManualRetry,
  webhookId: string,
  entry: NewAuditEntry,
): Promise<void> {
  await database.em.fork().transactional(async (em) => {
    const { rows } = await sql`
      insert into manual_retries (delivery_id, token, webhook_id, attempts)
      values (${deliveryId}::uuid, ${token}::uuid, ${webhookId}::uuid, ${attempts})
      on conflict do nothing returning token
    `.execute(em.getKysely());
    if (rows.length > 0) await recordAudit(em, entry);
  });
}

/** Returns the next manual retries of a webhook that wait, in the order of their requests, after a position. */
export async function listManualRetries(
  database: Database,
  webhookId: string,
  { after, limit }: { after: number; limit: number },
): Promise<WaitingRetry[]> {
  const statement = sql<{
    delivery_id: string;
    token: string;
    attempts: number;
    seq: string;
    is_made: boolean;
  }>`
    select delivery_id, token, attempts, seq, exists (
      select from delivery_attempts a where a.delivery_id = r.delivery_id and a.token = r.token) as is_made
    from manual_retries r
    where webhook_id = ${webhookId}::uuid and ended_at is null and seq > ${after}::bigint
    order by seq limit ${limit}
  `.compile(queryBuilderOf(database));
  const { rows } = await runPrepared(database, statement);
  return rows.map(({ delivery_id: deliveryId, token, attempts, seq, is_made: isMade }) => ({
    deliveryId,
    token,
    attempts,
    position: Number(seq),
    isMade,
  }));
}

/** Records that these manual retries were made, or will not be made. */
export async function endManualRetries(database: Database, tokens: readonly string[]): Promise<void> {
  const statement = sql`
    update manual_retries set ended_at = clock_timestamp() where token = any(${tokens}::uuid[]) and ended_at is null
  `.compile(queryBuilderOf(database));
  await runPrepared(database, statement);
}

/** Returns webhooks with a manual retry that waits since before a time. */
export async function listWebhooksWithManualRetries(
  database: Database,
  before: Date,
  limit: number,
): Promise<string[]> {
  const { rows } = await sql<{ webhook_id: string }>`
    select distinct webhook_id from manual_retries
    where ended_at is null and requested_at < ${before.toISOString()}::timestamptz
    order by webhook_id limit ${limit}
  `.execute(queryBuilderOf(database));
  return rows.map(({ webhook_id: id }) => id);
}
