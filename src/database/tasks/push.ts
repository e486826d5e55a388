import type { InferEntity } from '@mikro-orm/core';
import { sql } from 'kysely';
import { MAX_A2A_PUSH_CONFIGS, MAX_LISTED_ATTEMPTS } from '../../domain/common/limits.ts';
import type { FeedEvent } from '../../domain/tasks/feed-events.ts';
import { limitPayloads, type ListedAttempt } from '../../domain/tasks/listed-attempts.ts';
import { queryBuilderOf, type Database } from '../database.ts';
import type { EndedAttempt } from './callbacks.ts';
import { PushAttempt, PushConfig, TaskEvent } from './entities.ts';
import { eventOf } from './feed.ts';

export type PushConfigRow = InferEntity<typeof PushConfig>;
export type PushAttemptRow = InferEntity<typeof PushAttempt>;

/** The push notifications of a run to one address. `id` is unique within the run. */
export type PushKey = { executionId: string; id: string };

/** Types of the events that cause notifications. */
const PUSHED = ['state.changed', 'run.ended'] as const;
/** Number of events that are read at once. A run has only few events that cause notifications. */
const BATCH = 20;

/**
 * Stores a configuration, or replaces the address and the secrets of the one with the same id. Notifications begin after
 * the event `after`; null: after the last one. `full`: the run has as many as it can have. `missing`: the run was erased.
 */
export async function savePushConfig(
  database: Database,
  config: PushKey & { url: string; secrets: string; after: number | null; now: Date },
): Promise<'saved' | 'full' | 'missing'> {
  const { executionId, id, url, secrets, after, now } = config;
  return await database.em.fork().transactional(async (em) => {
    const db = em.getKysely();
    // The lock serializes concurrent counts. A statement of its own, since one that waits for a lock does not count rows
    // that were stored during the wait.
    const locked = await sql<{ last_seq: number; is_over: boolean }>`
      select last_seq, completed_at is not null as is_over
      from task_runs where id = ${executionId}::uuid for no key update
    `.execute(db);
    const [run] = locked.rows;
    if (!run) return 'missing';
    const { rows } = await sql<{ others: number }>`
      select count(*)::integer as others from push_configs
      where execution_id = ${executionId}::uuid and id <> ${id}
    `.execute(db);
    if ((rows[0]?.others ?? 0) >= MAX_A2A_PUSH_CONFIGS) return 'full';
    await sql`
      insert into push_configs (execution_id, id, url, secrets, sent_seq, is_over, created_at)
      values (${executionId}::uuid, ${id}, ${url}, ${secrets}, ${after ?? run.last_seq},
              ${after === null && run.is_over}, ${now.toISOString()}::timestamptz)
      on conflict (execution_id, id) do update set url = excluded.url, secrets = excluded.secrets
    `.execute(db);
    return 'saved';
  });
}

/** Returns the configurations of a run, by id. */
export async function listPushConfigs(database: Database, executionId: string): Promise<PushConfigRow[]> {
  return await database.em.fork().find(PushConfig, { execution_id: executionId }, { orderBy: { id: 'asc' } });
}

/** Deletes a configuration. The log of its attempts stays. */
export async function deletePushConfig(database: Database, { executionId, id }: PushKey): Promise<void> {
  await database.em.fork().nativeDelete(PushConfig, { execution_id: executionId, id });
}

/**
 * Returns the attempts for the newest events of a run, at most {@link MAX_LISTED_ATTEMPTS}, by configuration, oldest first; the
 * older ones without their payloads if all are too large.
 */
export async function listPushAttempts(
  database: Database,
  executionId: string,
): Promise<ListedAttempt<PushAttemptRow>[]> {
  const newest = await database.em.fork().find(
    PushAttempt,
    { execution_id: executionId },
    {
      orderBy: { seq: 'desc', config_id: 'desc', attempt: 'desc' },
      limit: MAX_LISTED_ATTEMPTS,
    },
  );
  const byConfig = Map.groupBy(limitPayloads(newest).toReversed(), ({ config_id: id }) => id);
  return [...byConfig.keys()].toSorted().flatMap((id) => byConfig.get(id) ?? []);
}

/**
 * Claims configurations with events that were not sent, until `until`, and returns them. Skips those that another process
 * is claiming: after a wait, it would claim them again. Reads each event of a run once, since a long step reports its
 * progress with thousands of events that cause no notification.
 */
export async function claimDuePushes(
  database: Database,
  { now, until, limit }: { now: Date; until: Date; limit: number },
): Promise<PushKey[]> {
  const { rows } = await sql<{ execution_id: string; id: string; is_due: boolean }>`
    with looked as (
      select config.execution_id, config.id, run.last_seq, exists (
          select 1 from task_events event
          where event.execution_id = config.execution_id and event.seq <= run.last_seq
            and event.seq > greatest(config.sent_seq, config.seen_seq) and event.type = any(${[...PUSHED]}::text[])
        ) as is_due
      from push_configs config join task_runs run on run.id = config.execution_id
      where not config.is_over
        and (config.claimed_until is null or config.claimed_until < ${now.toISOString()}::timestamptz)
        and run.last_seq > greatest(config.sent_seq, config.seen_seq)
      order by config.execution_id limit ${limit} for update of config skip locked
    )
    update push_configs config set
      claimed_until = case when is_due then ${until.toISOString()}::timestamptz else claimed_until end,
      seen_seq = case when is_due then seen_seq else last_seq end
    from looked where config.execution_id = looked.execution_id and config.id = looked.id
    returning config.execution_id, config.id, is_due
  `.execute(queryBuilderOf(database));
  return rows.flatMap(({ execution_id: executionId, id, is_due: isDue }) =>
    isDue ? { executionId, id } : [],
  );
}

/** Ends a claim, so that the next event is sent without a wait. */
export async function releasePush(database: Database, { executionId, id }: PushKey): Promise<void> {
  await database.em
    .fork()
    .nativeUpdate(PushConfig, { execution_id: executionId, id }, { claimed_until: null });
}

/** Extends a claim. Returns its configuration, null if it was deleted or has ended. */
export async function extendPush(
  database: Database,
  { executionId, id }: PushKey,
  until: Date,
): Promise<PushConfigRow | null> {
  const em = database.em.fork();
  await em.nativeUpdate(PushConfig, { execution_id: executionId, id }, { claimed_until: until });
  return await em.findOne(PushConfig, { execution_id: executionId, id, is_over: false });
}

/** Returns the next events after `after` that can cause a notification. */
export async function listPushedEvents(
  database: Database,
  executionId: string,
  after: number,
): Promise<FeedEvent[]> {
  const rows = await database.em
    .fork()
    .find(
      TaskEvent,
      { execution_id: executionId, seq: { $gt: after }, type: { $in: [...PUSHED] } },
      { orderBy: { seq: 'asc' }, limit: BATCH },
    );
  return rows.map(eventOf);
}

/** One notification: an event for an address. */
export type PushedEvent = PushKey & { seq: number };

/** Returns the last attempt of a notification, null if there was none. */
export async function findLastPushAttempt(
  database: Database,
  { executionId, id, seq }: PushedEvent,
): Promise<PushAttemptRow | null> {
  return await database.em
    .fork()
    .findOne(
      PushAttempt,
      { execution_id: executionId, config_id: id, seq },
      { orderBy: { attempt: 'desc' } },
    );
}

/** An attempt before it is sent. */
export type BegunPush = Pick<
  PushAttemptRow,
  'id' | 'attempt' | 'url' | 'request_headers' | 'request_body' | 'attempted_at'
>;

/**
 * Writes the row of an attempt before it is sent, and closes earlier ones without a recorded end. Returns false if
 * another process was faster, whose attempt stays open.
 */
export async function beginPush(database: Database, event: PushedEvent, begun: BegunPush): Promise<boolean> {
  const { executionId, id, seq } = event;
  const at = begun.attempted_at.toISOString();
  const { rows } = await sql<{ id: string }>`
    with closed as (
      update push_attempts
      set failure = 'interrupted', message = 'the result of this attempt could not be recorded',
          completed_at = ${at}::timestamptz
      where execution_id = ${executionId}::uuid and config_id = ${id} and seq = ${seq}
        and attempt < ${begun.attempt} and completed_at is null
    )
    insert into push_attempts
      (id, execution_id, config_id, seq, attempt, url, request_headers, request_body, attempted_at)
    select ${begun.id}::uuid, id, ${id}, ${seq}, ${begun.attempt}, ${begun.url},
           ${JSON.stringify(begun.request_headers)}::json, ${begun.request_body}, ${at}::timestamptz
    from task_runs where id = ${executionId}::uuid
    on conflict (execution_id, config_id, seq, attempt) do nothing
    returning id
  `.execute(queryBuilderOf(database));
  return rows.length > 0;
}

/** Records the end of an attempt. */
export async function endPush(database: Database, attemptId: string, ended: EndedAttempt): Promise<void> {
  await database.em.fork().nativeUpdate(PushAttempt, { id: attemptId, completed_at: null }, ended);
}

/** Records that nothing more is sent for an event: it was delivered, or has failed. */
export async function settlePush(
  database: Database,
  { executionId, id, seq }: PushedEvent,
  isOver: boolean,
): Promise<void> {
  await database.em
    .fork()
    .nativeUpdate(
      PushConfig,
      { execution_id: executionId, id, sent_seq: { $lt: seq } },
      { sent_seq: seq, ...(isOver ? { is_over: true } : {}) },
    );
}
