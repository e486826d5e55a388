import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { sql, type RawBuilder } from 'kysely';
import { queryBuilderOf, type Database } from '../../src/database/database.ts';
import { runPrepared } from '../../src/database/common/prepared.ts';
import { markUnsent } from '../../src/database/webhooks/dispatch.ts';
import { listTargetsForGroups } from '../../src/database/webhooks/webhook-targets.ts';
import { recordResults } from '../../src/database/webhooks/delivery-results.ts';
import { successOf } from '../support/results.ts';
import { useInstallation } from '../support/installation.ts';
import { eventually } from '../support/eventually.ts';

const GROWN = 70_000;

/** Returns how many rows of a table were read without an index so far. */
async function rowsReadOf(database: Database, table: string): Promise<number> {
  return await readStatistic(
    database,
    sql`select seq_tup_read::float8 as value from pg_stat_user_tables where relname = ${table}`,
  );
}

/** Returns how many entries of all indexes of a table were read so far. */
async function entriesReadOf(database: Database, table: string): Promise<number> {
  return await readStatistic(
    database,
    sql`select sum(idx_tup_read)::float8 as value from pg_stat_user_indexes where relname = ${table}`,
  );
}

async function readStatistic(database: Database, statement: RawBuilder<unknown>): Promise<number> {
  const db = queryBuilderOf(database);
  await sql`select pg_stat_force_next_flush()`.execute(db);
  const { rows } = await statement.execute(db);
  return (rows[0] as { value: number }).value;
}

async function increaseOf(read: () => Promise<number>, work: () => Promise<unknown>): Promise<number> {
  const before = await read();
  await work();
  return (await read()) - before;
}

describe('a statement that was prepared while its table was empty', function () {
  this.timeout(120_000);
  // One connection, so that all plans belong to it.
  const fresh = useInstallation({ poolSize: 1 });
  let database: Database;
  let workspaceId: string;
  const webhookId = randomUUID();
  before(async () => {
    ({ database } = fresh);
    workspaceId = fresh.installation.workspace_id;
    const db = queryBuilderOf(database);
    // Only the test may cause new plans.
    await sql`alter table deliveries set (autovacuum_enabled = false)`.execute(db);
    await sql`
      insert into webhooks (id, workspace_id, name, url, events, created_by, created_at, updated_at)
      values (${webhookId}::uuid, ${workspaceId}::uuid, 'W', 'http://x', '[]', 'x', now(), now())
    `.execute(db);
  });

  async function newDeliveries(count: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, created_at, updated_at)
      select gen_random_uuid(), ${workspaceId}::uuid, ${webhookId}::uuid, n, 'e', 'issue.created', 'pending', now(), now()
      from generate_series(1, ${count}) n returning id
    `.execute(queryBuilderOf(database));
    return rows.map(({ id }) => id);
  }

  /** Returns how many rows of the table of deliveries were read without an index during the work. */
  async function rowsRead(work: () => Promise<unknown>): Promise<number> {
    return await increaseOf(() => rowsReadOf(database, 'deliveries'), work);
  }

  /** Records results as a worker does. */
  async function recordSome(): Promise<void> {
    const ids = await newDeliveries(60);
    const results = ids.map((id) => successOf({ id, workspace_id: workspaceId, webhook_id: webhookId }));
    const { recorded } = await recordResults(database, results);
    assert.equal(recorded.size, ids.length);
  }

  /** Reads deliveries with a join, which PostgreSQL makes by reading all rows of a small table. */
  async function readByJoin(): Promise<void> {
    const ids = await newDeliveries(60);
    const statement = sql`
      select d.id from json_to_recordset(${JSON.stringify(ids.map((id) => ({ id })))}::json) as given (id uuid)
      join deliveries d on d.id = given.id
    `.compile(queryBuilderOf(database));
    assert.equal((await runPrepared(database, statement)).rows.length, ids.length);
  }

  it('writes results with the index alone', async () => {
    for (let time = 0; time < 10; time += 1) assert.equal(await rowsRead(recordSome), 0);
  });

  it('uses the index soon after the table has grown, without an analyze', async () => {
    // PostgreSQL chooses one generic plan at the sixth execution.
    for (let time = 0; time < 8; time += 1) await readByJoin();
    assert.ok((await rowsRead(readByJoin)) > 0, 'a small table is read sequentially');
    await newDeliveries(GROWN);
    await eventually('rows are found with the index', async () => (await rowsRead(readByJoin)) === 0);
    for (let time = 0; time < 8; time += 1) assert.equal(await rowsRead(readByJoin), 0);
  });
});

describe('a workspace with many events', () => {
  const fresh = useInstallation({ poolSize: 1 });
  const GROUPS = 2_000;
  const IN_GROUP = 20;
  const groupId = (index: number) => `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`;
  before(async () => {
    const workspaceId = fresh.installation.workspace_id;
    const db = queryBuilderOf(fresh.database);
    // The statement must not depend on statistics of the new events.
    await sql`alter table events set (autovacuum_enabled = false)`.execute(db);
    await sql`
      insert into webhooks (id, workspace_id, name, url, events, created_by, created_at, updated_at)
      values (${randomUUID()}::uuid, ${workspaceId}::uuid, 'W', 'http://x', '[]', 'x', now(), now())
    `.execute(db);
    await sql`
      insert into events (workspace_id, id, event, "timestamp", content_hash, words, received_at, group_id)
      select ${workspaceId}::uuid, 'e' || n, 'issue.created', now(), '', '', now(),
        ('00000000-0000-7000-8000-' || lpad((n / ${IN_GROUP}::int)::text, 12, '0'))::uuid
      from generate_series(0, ${GROUPS * IN_GROUP - 1}::int) n
    `.execute(db);
  });

  it('finds the webhooks of groups by reading only the events of those groups', async () => {
    const newest = Array.from({ length: 10 }, (_, index) => groupId(GROUPS - 1 - index));
    const read = async () =>
      (await rowsReadOf(fresh.database, 'events')) + (await entriesReadOf(fresh.database, 'events'));
    const count = await increaseOf(read, async () => {
      assert.equal((await listTargetsForGroups(fresh.database, newest)).size, 1);
    });
    assert.ok(count > 0 && count <= newest.length * IN_GROUP, `${count} events were read`);
  });
});

describe('a webhook with many waiting deliveries', () => {
  const fresh = useInstallation({ poolSize: 1 });
  const WAITING = 20_000;
  const webhookId = randomUUID();
  let waiting: string[] = [];
  before(async () => {
    const workspaceId = fresh.installation.workspace_id;
    const db = queryBuilderOf(fresh.database);
    const insert = async (status: string) => {
      const { rows } = await sql<{ id: string }>`
        insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, created_at, updated_at)
        select gen_random_uuid(), ${workspaceId}::uuid, ${webhookId}::uuid, n, 'e', 'issue.created', ${status}, now(), now()
        from generate_series(1, ${WAITING}::int) n returning id
      `.execute(db);
      return rows.map(({ id }) => id);
    };
    // By its statistics, no delivery waits.
    await sql`alter table deliveries set (autovacuum_enabled = false)`.execute(db);
    await sql`
      insert into webhooks (id, workspace_id, name, url, events, created_by, created_at, updated_at)
      values (${webhookId}::uuid, ${workspaceId}::uuid, 'W', 'http://x', '[]', 'x', now(), now())
    `.execute(db);
    await insert('failed');
    await sql`analyze deliveries`.execute(db);
    waiting = await insert('pending');
  });

  it('reads only those that will not be sent when it records why', async () => {
    const unsent = waiting.slice(0, 200).map((id) => ({ id, generation: 0 }));
    const read = async () =>
      (await rowsReadOf(fresh.database, 'deliveries')) + (await entriesReadOf(fresh.database, 'deliveries'));
    const count = await increaseOf(read, () =>
      markUnsent(fresh.database, unsent, 'held', 'a reason', new Date()),
    );
    assert.ok(count > 0 && count <= 3 * unsent.length, `${count} rows and entries were read`);
    const { rows } = await sql<{ count: number }>`
      select count(*)::int from deliveries where status = 'held'
    `.execute(queryBuilderOf(fresh.database));
    assert.deepEqual(rows, [{ count: unsent.length }]);
  });
});
