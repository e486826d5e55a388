import type { Client } from 'pg';

/** The number of runs and deliveries to add. */
export type SeedCounts = { runs: number; deliveries: number };

/** Deliveries of one group of events, as under load. */
const GROUP_SIZE = 30;
/** Webhooks with half of the seeded deliveries. The other half belongs to the webhook under load. */
const OTHER_WEBHOOKS = 20;
/** The age of the oldest rows. It is below every retention limit. */
const DAYS = 25;

/** A UUIDv7: its first bits are the time, so that rows are ordered in the indexes as usual. */
const ID_AT = (at: string, seed: string) => `
  (lpad(to_hex((extract(epoch from ${at}) * 1000)::bigint), 12, '0') || '7' || substr(md5(${seed}), 1, 3)
    || '8' || substr(md5(${seed}), 4, 15))::uuid`;

/**
 * Adds copies of the existing runs and deliveries, with all rows that belong to them, over the last 25 days. 4 % of the
 * runs are failed, 2 % cancelled, 2 % escalated; 2 % of the deliveries are failed and 1 % cancelled. So rows are as large
 * as real ones. Indexes are built last, which is faster. {@link analyseTables} analyses the new rows.
 */
export async function seedRows(client: Client, { runs, deliveries }: SeedCounts): Promise<void> {
  await client.query('begin');
  await client.query('set local session_replication_role = replica');
  const indexes = await dropIndexes(client);
  await seedRuns(client, runs);
  await seedDeliveries(client, deliveries);
  for (const definition of indexes) await client.query(definition);
  await client.query('commit');
}

/** Does the work of autovacuum. */
export async function analyseTables(client: Client): Promise<void> {
  await client.query(`vacuum (analyze) ${TABLES.join(', ')}`);
  await client.query('checkpoint');
}

const TABLES = [
  'task_runs',
  'task_events',
  'workflow_webhook_deliveries',
  'step_results',
  'events',
  'event_groups',
  'deliveries',
  'delivery_attempts',
];

async function dropIndexes(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
     where indrelid = any($1::regclass[]) and not indisunique`,
    [TABLES],
  );
  for (const { name } of rows) await client.query(`drop index ${name}`);
  return rows.map(({ definition }) => definition);
}

/** The maximum number of rows to copy from. With only a few, all copies would be equal. */
const MAX_SOURCES = 200;

async function countSources(client: Client, rows: string): Promise<number> {
  const found = await client.query<{ n: number }>(
    `select count(*)::integer as n from (select from ${rows} limit ${MAX_SOURCES}) found`,
  );
  const [{ n } = { n: 0 }] = found.rows;
  if (n === 0) throw new Error(`there are no rows to copy: ${rows}`);
  return n;
}

async function seedRuns(client: Client, count: number): Promise<void> {
  const of = await countSources(client, `task_runs where state = 'completed'`);
  await client.query(`
    create temporary table copied on commit drop as
    select n, source.id as old, ${ID_AT('at', `random()::text || n`)} as new, at, at - source.created_at as later
    from generate_series(1, ${count}) n
    cross join lateral (select now() - (1 - n / ${count}::double precision) * interval '${DAYS} days'
      - interval '1 minute' as at) time
    join (select id, created_at, row_number() over (order by id desc) - 1 as place from task_runs where state = 'completed'
      order by id desc limit ${of}) source on source.place = n % ${of}`);
  await copyRows(client, 'task_runs', 'id', {
    id: 'm.new',
    ...shiftBy(['created_at', 'updated_at', 'started_at', 'completed_at']),
    state: `case when m.n % 25 = 7 then 'failed' when m.n % 50 = 8 then 'cancelled'
      when m.n % 50 = 9 then 'escalated' else t.state end`,
    // Pending callbacks would be sent, thousands of times.
    callback_status: `case when t.callback_url is null then 'none' else 'delivered' end`,
    metadata: `(t.metadata::jsonb || jsonb_build_object('reference', 'r' || m.n))::json`,
  });
  await copyRows(client, 'task_events', 'execution_id', {
    execution_id: 'm.new',
    ...shiftBy(['at', 'written_at']),
  });
  await copyRows(client, 'step_results', 'execution_id', {
    execution_id: 'm.new',
    ...shiftBy(['written_at']),
  });
  await copyRows(client, 'workflow_webhook_deliveries', 'execution_id', {
    id: 'gen_random_uuid()',
    execution_id: 'm.new',
    ...shiftBy(['attempted_at', 'completed_at']),
  });
  await client.query('drop table copied');
}

async function seedDeliveries(client: Client, count: number): Promise<void> {
  const [busy = '', ...webhooks] = await prepareWebhooks(client);
  const of = await countSources(client, `deliveries where status = 'succeeded' and webhook_id = '${busy}'`);
  await client.query(`
    create temporary table copied on commit drop as
    select n, source.id as old, source.event_seq as old_seq, nextval('events_seq_seq') as seq,
      'seeded_' || md5(random()::text || n) as event_id, at, at - source.created_at as later,
      ${ID_AT('at', `random()::text || n`)} as new,
      ${ID_AT('at', `'group' || n / ${GROUP_SIZE}`)} as "group"
    from generate_series(1, ${count}) n
    cross join lateral (select now() - (1 - (n - n % ${GROUP_SIZE}) / ${count}::double precision)
      * interval '${DAYS} days' - interval '1 minute' as at) time
    join (select id, event_seq, created_at, row_number() over (order by id desc) - 1 as place from deliveries
      where status = 'succeeded' and webhook_id = '${busy}' order by id desc limit ${of}) source
      on source.place = n % ${of}`);
  await client.query(`
    insert into event_groups (id, created_at, started_at, done_at) select distinct "group", at, at, at from copied`);
  await copyRows(client, 'events', 'seq', {
    seq: 'm.seq',
    id: 'm.event_id',
    group_id: 'm."group"',
    words: `t.words || ' seeded' || m.n % 1000`,
    ...shiftBy(['timestamp', 'received_at']),
  });
  await copyRows(client, 'deliveries', 'id', {
    id: 'm.new',
    event_seq: 'm.seq',
    event_id: 'm.event_id',
    webhook_id: `case when m.n % 2 = 0 then t.webhook_id
      else ('{${webhooks.join(',')}}'::uuid[])[1 + m.n / 2 % ${OTHER_WEBHOOKS}] end`,
    status: `case when m.n % 100 in (10, 60) then 'failed' when m.n % 100 = 20 then 'cancelled' else t.status end`,
    ...shiftBy(['created_at', 'updated_at']),
  });
  await copyRows(client, 'delivery_attempts', 'delivery_id', {
    delivery_id: 'm.new',
    ...shiftBy(['attempted_at']),
  });
  await client.query('drop table copied');
}

const shiftBy = (columns: string[]) =>
  Object.fromEntries(columns.map((column) => [column, `t."${column}" + m.later`]));

/** Copies the rows that belong to the copied ones. `changed`: new values of columns. */
async function copyRows(
  client: Client,
  table: string,
  by: string,
  changed: Record<string, string>,
): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select column_name as name from information_schema.columns
     where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER' order by ordinal_position`,
    [table],
  );
  const names = rows.map(({ name }) => name);
  const values = names.map((name) => changed[name] ?? `t."${name}"`);
  await client.query(`
    insert into ${table} (${names.map((name) => `"${name}"`).join(', ')}) overriding system value
    select ${values.join(', ')} from copied m join ${table} t on t.${by} = m.${by === 'seq' ? 'old_seq' : 'old'}`);
}

/** Returns the webhook under load and twenty others without events, which are created once. */
async function prepareWebhooks(client: Client): Promise<string[]> {
  await client.query(`
    insert into webhooks (id, workspace_id, name, url, events, created_by, created_at, updated_at)
    select gen_random_uuid(), workspace_id, 'seeded ' || n, url, '[{"event":"sprint.started","filters":[]}]', created_by, now(), now()
    from (select * from webhooks limit 1) one, generate_series(1, ${OTHER_WEBHOOKS}) n
    where not exists (select from webhooks where name like 'seeded %')`);
  const { rows } = await client.query<{ id: string }>(
    `select id from webhooks order by name like 'seeded %', id`,
  );
  return rows.map(({ id }) => id);
}
