import { sql } from 'kysely';
import type { RelayAnswer, RelayRequest } from '../../domain/channel/channel.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import { CHANNELS } from '../common/notifications.ts';
import { runPrepared } from '../common/prepared.ts';

/** Requests from delivery workers to listeners, and their answers. */

/**
 * Stores a request for the webhook's listener and notifies it. Returns false and stores nothing if there is no
 * listener.
 */
export async function storeRequest(database: Database, request: RelayRequest): Promise<boolean> {
  const { id, webhook_id: webhookId } = request;
  const statement = sql`
    with added as (
      insert into relayed_requests (id, webhook_id, request)
      select ${id}::uuid, id, ${JSON.stringify(request)}::json from webhooks
      where id = ${webhookId}::uuid and deleted_at is null and listening_until > clock_timestamp()
      returning webhook_id
    )
    select pg_notify(${CHANNELS.relay}, webhook_id::text) from added
  `.compile(queryBuilderOf(database));
  const { count } = await runPrepared(database, statement);
  return count > 0;
}

/** Claims waiting requests of a webhook, oldest first. Nobody else gets them during the claim. */
export async function claimRequests(
  database: Database,
  webhookId: string,
  limit: number,
): Promise<RelayRequest[]> {
  const statement = sql<{ request: RelayRequest; created_at: string }>`
    with taken as (
      update relayed_requests set taken_at = clock_timestamp()
      where id in (
        select id from relayed_requests where webhook_id = ${webhookId}::uuid and taken_at is null
        order by created_at limit ${limit} for update skip locked
      )
      returning request, created_at
    )
    select request from taken order by created_at
  `.compile(queryBuilderOf(database));
  const { rows } = await runPrepared(database, statement);
  return rows.map(({ request }) => request);
}

/** Releases claimed requests that were not sent to their listener, for another listener. */
export async function releaseRequests(
  database: Database,
  webhookId: string,
  requests: readonly RelayRequest[],
): Promise<void> {
  const ids = requests.map(({ id }) => id);
  await sql`
    with waiting as (
      update relayed_requests set taken_at = null where id = any(${ids}::uuid[]) and answer is null
    )
    select pg_notify(${CHANNELS.relay}, ${webhookId})
  `.execute(queryBuilderOf(database));
}

/** Stores the answer of a request and notifies its worker. Returns false if the worker has given up. */
export async function answerRequest(database: Database, id: string, answer: RelayAnswer): Promise<boolean> {
  const statement = sql`
    with answered as (
      update relayed_requests set answer = ${JSON.stringify(answer)}::json
      where id = ${id}::uuid and answer is null
      returning id
    )
    select pg_notify(${CHANNELS.relayAnswers}, id::text) from answered
  `.compile(queryBuilderOf(database));
  const { count } = await runPrepared(database, statement);
  return count > 0;
}

/**
 * Returns the state of a request; `hasListener`: whether its webhook has a listener. Null if the request was deleted.
 */
export async function readRequestState(
  database: Database,
  id: string,
): Promise<{ answer: RelayAnswer | null; isTaken: boolean; hasListener: boolean } | null> {
  const statement = sql<{ answer: RelayAnswer | null; isTaken: boolean; hasListener: boolean }>`
    select answer, taken_at is not null as "isTaken",
      deleted_at is null and listening_until > clock_timestamp() as "hasListener"
    from relayed_requests join webhooks on webhooks.id = webhook_id
    where relayed_requests.id = ${id}::uuid
  `.compile(queryBuilderOf(database));
  const { rows } = await runPrepared(database, statement);
  return rows[0] ?? null;
}

/** Deletes a request that its worker does not need any more. */
export async function deleteRequest(database: Database, id: string): Promise<void> {
  const statement = sql`delete from relayed_requests where id = ${id}::uuid`.compile(
    queryBuilderOf(database),
  );
  await runPrepared(database, statement);
}

/** Deletes requests of workers that died. */
export async function deleteRequestsBefore(database: Database, before: Date): Promise<void> {
  await sql`delete from relayed_requests where created_at < ${before}`.execute(queryBuilderOf(database));
}
