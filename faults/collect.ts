import { setTimeout as wait } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import type { Client as Database } from 'pg';
import { withClient } from '../dev/services/postgres.ts';
import type { FeedEvent } from '../src/domain/tasks/feed-events.ts';
import { MAY_WAIT } from './books.ts';
import type { Books, CallbackRow, DeliveryRow, RunRow, Switching, WorkflowRow } from './books.ts';

type FromTables = Pick<Books, 'runs' | 'feed' | 'storedEvents' | 'deliveries' | 'switchings' | 'notices'> & {
  callbackLog: CallbackRow[];
};

/** What the tables say, from the tables themselves. */
export async function collectTables(databaseUrl: string): Promise<FromTables> {
  return await withClient(databaseUrl, async (database) => ({
    runs: await rowsOf<RunRow>(
      database,
      `select id, metadata->>'mark' as mark, state, callback_status, callback_url is not null as has_callback,
         last_seq, steps from task_runs order by id`,
    ),
    feed: await feedOf(database),
    callbackLog: await rowsOf<CallbackRow>(
      database,
      `select execution_id, attempt, response_status, failure, request_body
       from workflow_webhook_deliveries order by execution_id, attempt`,
    ),
    storedEvents: (await rowsOf<{ id: string }>(database, 'select id from events')).map(({ id }) => id),
    deliveries: await rowsOf<DeliveryRow>(
      database,
      `select d.id, d.webhook_id, d.event_id, d.status, d.reason, d.attempts_count, e.body,
         coalesce(a.attempts, '[]') as attempts
       from deliveries d
       left join events e on e.seq = d.event_seq
       left join lateral (
         select json_agg(json_build_object('number', number, 'trigger', "trigger",
           'at', extract(epoch from attempted_at)::float8 * 1000, 'response_status', response_status,
           'failure', failure, 'response_ms', response_ms) order by number) as attempts
         from delivery_attempts where delivery_id = d.id) a on true`,
    ),
    switchings: await switchingsOf(database),
    notices: await rowsOf(
      database,
      `select subject, user_id::text as "user", detail->>'disabled_at' as "disabledAt", count(*)::int as count
       from notifications where kind = 'webhook.disabled' group by 1, 2, 3`,
    ),
  }));
}

async function rowsOf<T extends object>(database: Database, statement: string): Promise<T[]> {
  return (await database.query<T & Record<string, unknown>>(statement)).rows;
}

async function feedOf(database: Database): Promise<Map<string, FeedEvent[]>> {
  const rows = await rowsOf<Omit<FeedEvent, 'at'> & { at: Date }>(
    database,
    'select execution_id, seq, type, at, data from task_events order by execution_id, seq',
  );
  const feed = new Map<string, FeedEvent[]>();
  for (const { at, ...row } of rows) {
    const events = feed.get(row.execution_id) ?? [];
    feed.set(row.execution_id, events);
    events.push({ ...row, at: at.toISOString() });
  }
  return feed;
}

/** Disablings and enablings by the audit log, with the times of their commits. */
async function switchingsOf(database: Database): Promise<Switching[]> {
  return await rowsOf<Switching>(
    database,
    `select replace(subject, 'webhook:', '') as webhook_id, replace(action, 'webhook.', '') as "to",
       extract(epoch from pg_xact_commit_timestamp(xmin))::float8 * 1000 as at
     from audit_log where action in ('webhook.disabled', 'webhook.enabled') order by at`,
  );
}

/** What is done is closed within so long: a backlog lingers for a moment, in case more comes. */
const CLOSES_WITHIN_MS = 20_000;

/** Every workflow that Temporal knows of, once those are closed that have nothing to wait for. */
export async function collectWorkflows(address: string, namespace: string): Promise<WorkflowRow[]> {
  const connection = await Connection.connect({ address });
  try {
    const client = new Client({ connection, namespace });
    const until = Date.now() + CLOSES_WITHIN_MS;
    for (;;) {
      const rows: WorkflowRow[] = [];
      for await (const { workflowId: id, type, status } of client.workflow.list()) {
        rows.push({ id, type, status: status.name });
      }
      const isClosing = rows.some(({ type, status }) => status === 'RUNNING' && !MAY_WAIT.has(type));
      if (!isClosing || Date.now() > until) return rows;
      await wait(500);
    }
  } finally {
    await connection.close();
  }
}

/** What is still under way, so that one knows when to look. */
export type Open = { runs: number; callbacks: number; groups: number; deliveries: number };

export async function openWork(databaseUrl: string): Promise<Open> {
  return await withClient(databaseUrl, async (database) => {
    const [open] = await rowsOf<Open>(
      database,
      `select
         (select count(*)::int from task_runs where completed_at is null) as runs,
         (select count(*)::int from task_runs where callback_status = 'pending') as callbacks,
         (select count(*)::int from event_groups where done_at is null) as groups,
         (select count(*)::int from deliveries where status in ('pending', 'retrying', 'held', 'failed')) as deliveries`,
    );
    return open ?? { runs: -1, callbacks: -1, groups: -1, deliveries: -1 };
  });
}
