import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { sql } from 'kysely';
import { BATCH_ROWS, createRetentionActivities } from '../../src/activities/retention.ts';
import { queryBuilderOf } from '../../src/database/database.ts';
import { freshInstallation, type FreshInstallation } from '../support/installation.ts';

export const DAY_MS = 24 * 3_600_000;
export const KEPT = { payloads: 30, deliveries: 90, skipped: 7, notifications: 90 };

export type World = FreshInstallation & { webhookId: string };

/** Starts an installation in its own database, with one webhook. */
export async function startWorld(poolSize = 10): Promise<World> {
  const webhookId = randomUUIDv7();
  const world = { ...(await freshInstallation({ poolSize })), webhookId };
  await storeWebhook(world, webhookId, null);
  return world;
}

/** Stores another webhook. */
export async function storeWebhook({ database, installation }: World, id: string, deletedAt: Date | null) {
  await sql`
    insert into webhooks (id, workspace_id, name, url, events, created_by, created_at, updated_at, deleted_at)
    values (${id}::uuid, ${installation.workspace_id}::uuid, 'Hook', 'https://example.com/', '[]', 'user:x',
      now(), now(), ${deletedAt?.toISOString() ?? null}::timestamptz)`.execute(queryBuilderOf(database));
}

export const ago = (days: number) => new Date(Date.now() - days * DAY_MS);

/**
 * Stores `rows` events, a millisecond apart from `at` on, each with its group, a delivery of this status and, unless
 * that is skipped, an attempt.
 */
export async function storeDeliveries(
  { database, installation, webhookId }: World,
  {
    at,
    rows = 1,
    status = 'succeeded',
    webhook = webhookId,
  }: { at: Date; rows?: number; status?: string; webhook?: string },
): Promise<void> {
  const begin = at.toISOString();
  const db = queryBuilderOf(database);
  await sql`
    with row as materialized (
      select n, ${begin}::timestamptz + n * interval '1 ms' as at,
        (lpad(to_hex((extract(epoch from ${begin}::timestamptz) * 1000)::bigint + n), 12, '0')
          || '7' || substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid as id
      from generate_series(0, ${rows - 1}) as n
    ), grouped as (
      insert into event_groups (id, created_at, started_at, done_at) select id, at, at, at from row
    ), event as (
      insert into events (workspace_id, id, group_id, event, "timestamp", content_hash, body, words, search,
        received_at)
      select ${installation.workspace_id}::uuid, 'evt_' || id, id, 'issue.created', at, '\\x00', '{"secret":1}',
        'a secret title', 'secret', at
      from row order by n
      returning seq, group_id as id, received_at as at
    ), delivery as (
      insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, attempts_count,
        created_at, updated_at)
      select id, ${installation.workspace_id}::uuid, ${webhook}::uuid, seq, 'evt_' || id, 'issue.created', ${status},
        (${status} <> 'skipped')::integer, at, at
      from event
    )
    insert into delivery_attempts (delivery_id, number, trigger, attempted_at, url, request_headers,
      response_status, response_headers, response_body, timings)
    select id, 1, 'automatic', at, 'https://example.com/', '{}', 200, '{"x":"y"}', 'an answer', '{}'
    from row where ${status} <> 'skipped'`.execute(db);
}

/** Stores a notification of that time. */
export async function storeNotification({ database, installation }: World, at: Date): Promise<void> {
  await sql`
    insert into notifications (id, workspace_id, user_id, kind, subject, created_at)
    select ${randomUUIDv7()}::uuid, ${installation.workspace_id}::uuid, id, 'webhook.disabled', 'webhook:x',
      ${at.toISOString()}::timestamptz
    from users limit 1`.execute(queryBuilderOf(database));
}

/** Returns the number of rows that match a condition. */
export async function count({ database }: World, table: string, where = 'true'): Promise<number> {
  const { rows } = await sql<{ count: string }>`
    select count(*) from ${sql.raw(table)} where ${sql.raw(where)}`.execute(queryBuilderOf(database));
  return Number(rows[0]?.count);
}

/** Runs an activity. Returns its result and its heartbeats. */
export async function runActivity(
  activity: () => Promise<number>,
  options: { heartbeatDetails?: unknown; cancelAfterBeats?: number } = {},
) {
  const environment = new MockActivityEnvironment({ heartbeatDetails: options.heartbeatDetails });
  const beats: { rows: number }[] = [];
  environment.on('heartbeat', (beat: { rows: number }) => {
    beats.push(beat);
    if (beats.length === options.cancelAfterBeats) environment.cancel();
  });
  const rows = (await environment.run(activity)) as number;
  return { rows, beats };
}

/** Stores old and recent rows. @throws unless the removal deletes every old row, in batches, and keeps the recent ones */
export async function assertGoesInBatches(
  world: World,
  { old, young }: { old: number; young: number },
): Promise<void> {
  await storeDeliveries(world, { at: ago(100), rows: old });
  await storeDeliveries(world, { at: ago(10), rows: young });
  await sql`analyze`.execute(queryBuilderOf(world.database));
  const { eraseEventPayloads, eraseAnswers, removeDeliveries, removeEvents, removeGroups } =
    createRetentionActivities({ database: world.database, kept: KEPT });
  for (const activity of [eraseEventPayloads, eraseAnswers, removeDeliveries, removeEvents, removeGroups]) {
    const { rows, beats } = await runActivity(activity);
    assert.equal(rows, old);
    const steps = beats.map((beat, index) => beat.rows - (beats[index - 1]?.rows ?? 0));
    assert.ok(Math.max(...steps) <= BATCH_ROWS, `${Math.max(...steps)}`);
    assert.ok(beats.length <= old / BATCH_ROWS + 1, `${beats.length} batches`);
  }
  for (const table of ['events', 'deliveries', 'delivery_attempts', 'event_groups']) {
    assert.equal(await count(world, table), young, table);
  }
}
