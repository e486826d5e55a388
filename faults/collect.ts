import { setTimeout as wait } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import type { Client as Database } from 'pg';
import { withClient } from '../dev/services/postgres.ts';
import type { FeedEvent } from '../src/domain/tasks/feed-events.ts';
import { WAITING_WORKFLOWS } from './records.ts';
import type {
  ScenarioRecords,
  CallbackRow,
  DeliveryRow,
  RunRow,
  StatusChange,
  WorkflowRow,
} from './records.ts';

type TableRecords = Pick<
  ScenarioRecords,
  'runs' | 'feed' | 'storedEvents' | 'deliveries' | 'statusChanges' | 'notifications'
> & {
  callbackLog: CallbackRow[];
};

/** Reads the records from the tables. */
export async function collectTables(databaseUrl: string): Promise<TableRecords> {
  return await withClient(databaseUrl, async (database) => ({
    runs: await queryRows<RunRow>(
      database,
      `select id, metadata->>'mark' as mark, state, callback_status, callback_url is not null as has_callback,
         last_seq, steps from task_runs order by id`,
    ),
    feed: await collectFeed(database),
    callbackLog: await queryRows<CallbackRow>(
      database,
      `select execution_id, attempt, response_status, failure, reconnected, request_body
       from workflow_webhook_deliveries order by execution_id, attempt`,
    ),
    storedEvents: (await queryRows<{ id: string }>(database, 'select id from events')).map(({ id }) => id),
    deliveries: await queryRows<DeliveryRow>(
      database,
      `select d.id, d.webhook_id, d.event_id, d.status, d.reason, d.attempts_count, e.body,
         coalesce(a.attempts, '[]') as attempts
       from deliveries d
       left join events e on e.seq = d.event_seq
       left join lateral (
         select json_agg(json_build_object('number', number, 'trigger', "trigger",
           'at', extract(epoch from attempted_at)::float8 * 1000, 'response_status', response_status,
           'failure', failure, 'response_ms', response_ms,
           'reconnected', coalesce((timings->>'reconnected')::boolean, false)) order by number) as attempts
         from delivery_attempts where delivery_id = d.id) a on true`,
    ),
    statusChanges: await collectStatusChanges(database),
    notifications: await queryRows(
      database,
      `select subject, user_id::text as "user", detail->>'disabled_at' as "disabledAt", count(*)::int as count
       from notifications where kind = 'webhook.disabled' group by 1, 2, 3`,
    ),
  }));
}

async function queryRows<T extends object>(database: Database, statement: string): Promise<T[]> {
  return (await database.query<T & Record<string, unknown>>(statement)).rows;
}

async function collectFeed(database: Database): Promise<Map<string, FeedEvent[]>> {
  const rows = await queryRows<Omit<FeedEvent, 'at'> & { at: Date }>(
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

/** Reads from the audit log when webhooks were disabled and enabled, with the times of the commits. */
async function collectStatusChanges(database: Database): Promise<StatusChange[]> {
  return await queryRows<StatusChange>(
    database,
    `select replace(subject, 'webhook:', '') as webhook_id, replace(action, 'webhook.', '') as "to",
       extract(epoch from pg_xact_commit_timestamp(xmin))::float8 * 1000 as at
     from audit_log where action in ('webhook.disabled', 'webhook.enabled') order by at`,
  );
}

/** Workflows without further work close within this time: a backlog waits a moment for more deliveries. */
const CLOSE_TIMEOUT_MS = 20_000;

/** Returns all workflows in Temporal, after waiting for those to close that have no further work. */
export async function collectWorkflows(address: string, namespace: string): Promise<WorkflowRow[]> {
  const connection = await Connection.connect({ address });
  try {
    const client = new Client({ connection, namespace });
    const until = Date.now() + CLOSE_TIMEOUT_MS;
    for (;;) {
      const rows: WorkflowRow[] = [];
      for await (const { workflowId: id, type, status } of client.workflow.list()) {
        rows.push({ id, type, status: status.name });
      }
      const isClosing = rows.some(({ type, status }) => status === 'RUNNING' && !WAITING_WORKFLOWS.has(type));
      if (!isClosing || Date.now() > until) return rows;
      await wait(500);
    }
  } finally {
    await connection.close();
  }
}

/** Counts of work in progress. */
export type OpenWork = { runs: number; callbacks: number; groups: number; deliveries: number };

/** Counts the work in progress. */
export async function countOpenWork(databaseUrl: string): Promise<OpenWork> {
  return await withClient(databaseUrl, async (database) => {
    const [open] = await queryRows<OpenWork>(
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
