import type { Client } from 'pg';

/** How many runs and how many deliveries are to be added. */
export type Planting = { runs: number; deliveries: number };

/** Deliveries of one group of events, as they come in under load. */
const OF_A_GROUP = 30;
/** Webhooks that half of the planted deliveries belong to; the other half is the busy one's. */
const OTHER_WEBHOOKS = 20;
/** Younger than the age at which anything of them would be removed. */
const DAYS = 25;

/** An id as ours are: its first bits are its time, so that rows lie in the indexes as they would. */
const ID_AT = (at: string, seed: string) => `
  (lpad(to_hex((extract(epoch from ${at}) * 1000)::bigint), 12, '0') || '7' || substr(md5(${seed}), 1, 3)
    || '8' || substr(md5(${seed}), 4, 15))::uuid`;

/**
 * Adds copies of the runs and deliveries that are there, with everything that belongs to them, over the last 25 days: of
 * runs 4 % failed, 2 % cancelled, 2 % escalated; of deliveries 2 % failed and 1 % cancelled. So they are as large as
 * real ones. Indexes are built last, which is quicker. What was planted is not yet analysed: {@link settle} does that.
 */
export async function plant(client: Client, { runs, deliveries }: Planting): Promise<void> {
  await client.query('begin');
  await client.query('set local session_replication_role = replica');
  const indexes = await dropIndexes(client);
  await plantRuns(client, runs);
  await plantDeliveries(client, deliveries);
  for (const definition of indexes) await client.query(definition);
  await client.query('commit');
}

/** Does what autovacuum would do within the next minutes. */
export async function settle(client: Client): Promise<void> {
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

/** Rows to make copies of, at most; of a few all copies would be alike. */
const MOST_SOURCES = 200;

async function sourcesAmong(client: Client, rows: string): Promise<number> {
  const found = await client.query<{ n: number }>(
    `select count(*)::integer as n from (select from ${rows} limit ${MOST_SOURCES}) found`,
  );
  const [{ n } = { n: 0 }] = found.rows;
  if (n === 0) throw new Error(`there is nothing to make copies of: ${rows}`);
  return n;
}

async function plantRuns(client: Client, count: number): Promise<void> {
  const of = await sourcesAmong(client, `task_runs where state = 'completed'`);
  await client.query(`
    create temporary table copied on commit drop as
    select n, source.id as old, ${ID_AT('at', `random()::text || n`)} as new, at, at - source.created_at as later
    from generate_series(1, ${count}) n
    cross join lateral (select now() - (1 - n / ${count}::double precision) * interval '${DAYS} days'
      - interval '1 minute' as at) time
    join (select id, created_at, row_number() over (order by id desc) - 1 as place from task_runs where state = 'completed'
      order by id desc limit ${of}) source on source.place = n % ${of}`);
  await copy(client, 'task_runs', 'id', {
    id: 'm.new',
    ...laterBy(['created_at', 'updated_at', 'started_at', 'completed_at']),
    state: `case when m.n % 25 = 7 then 'failed' when m.n % 50 = 8 then 'cancelled'
      when m.n % 50 = 9 then 'escalated' else t.state end`,
    // What is still to be called back would be, thousands of times.
    callback_status: `case when t.callback_url is null then 'none' else 'delivered' end`,
    metadata: `(t.metadata::jsonb || jsonb_build_object('reference', 'r' || m.n))::json`,
  });
  await copy(client, 'task_events', 'execution_id', {
    execution_id: 'm.new',
    ...laterBy(['at', 'written_at']),
  });
  await copy(client, 'step_results', 'execution_id', { execution_id: 'm.new', ...laterBy(['written_at']) });
  await copy(client, 'workflow_webhook_deliveries', 'execution_id', {
    id: 'gen_random_uuid()',
    execution_id: 'm.new',
    ...laterBy(['attempted_at', 'completed_at']),
  });
  await client.query('drop table copied');
}

async function plantDeliveries(client: Client, count: number): Promise<void> {
  const [busy = '', ...webhooks] = await webhooksOf(client);
  const of = await sourcesAmong(client, `deliveries where status = 'succeeded' and webhook_id = '${busy}'`);
  await client.query(`
    create temporary table copied on commit drop as
    select n, source.id as old, source.event_seq as old_seq, nextval('events_seq_seq') as seq,
      'planted_' || md5(random()::text || n) as event_id, at, at - source.created_at as later,
      ${ID_AT('at', `random()::text || n`)} as new,
      ${ID_AT('at', `'group' || n / ${OF_A_GROUP}`)} as "group"
    from generate_series(1, ${count}) n
    cross join lateral (select now() - (1 - (n - n % ${OF_A_GROUP}) / ${count}::double precision)
      * interval '${DAYS} days' - interval '1 minute' as at) time
    join (select id, event_seq, created_at, row_number() over (order by id desc) - 1 as place from deliveries
      where status = 'succeeded' and webhook_id = '${busy}' order by id desc limit ${of}) source
      on source.place = n % ${of}`);
  await client.query(`
    insert into event_groups (id, created_at, started_at, done_at) select distinct "group", at, at, at from copied`);
  await copy(client, 'events', 'seq', {
    seq: 'm.seq',
    id: 'm.event_id',
    group_id: 'm."group"',
    words: `t.words || ' planted' || m.n % 1000`,
    ...laterBy(['timestamp', 'received_at']),
  });
  await copy(client, 'deliveries', 'id', {
    id: 'm.new',
    event_seq: 'm.seq',
    event_id: 'm.event_id',
    webhook_id: `case when m.n % 2 = 0 then t.webhook_id
      else ('{${webhooks.join(',')}}'::uuid[])[1 + m.n / 2 % ${OTHER_WEBHOOKS}] end`,
    status: `case when m.n % 100 in (10, 60) then 'failed' when m.n % 100 = 20 then 'cancelled' else t.status end`,
    ...laterBy(['created_at', 'updated_at']),
  });
  await copy(client, 'delivery_attempts', 'delivery_id', {
    delivery_id: 'm.new',
    ...laterBy(['attempted_at']),
  });
  await client.query('drop table copied');
}

const laterBy = (columns: string[]) =>
  Object.fromEntries(columns.map((column) => [column, `t."${column}" + m.later`]));

/** Copies rows that belong to what is copied; `changed` columns get what is said there, all others stay. */
async function copy(
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

/** The webhook under load, and twenty of a kind that nobody publishes, which are made once. */
async function webhooksOf(client: Client): Promise<string[]> {
  await client.query(`
    insert into webhooks (id, workspace_id, name, url, events, created_by, created_at, updated_at)
    select gen_random_uuid(), workspace_id, 'planted ' || n, url, '[{"event":"sprint.started"}]', created_by, now(), now()
    from (select * from webhooks limit 1) one, generate_series(1, ${OTHER_WEBHOOKS}) n
    where not exists (select from webhooks where name like 'planted %')`);
  const { rows } = await client.query<{ id: string }>(
    `select id from webhooks order by name like 'planted %', id`,
  );
  return rows.map(({ id }) => id);
}
