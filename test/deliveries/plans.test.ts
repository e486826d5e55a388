import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { queryBuilderOf, type Database } from '../../src/database/database.ts';
import { runPrepared } from '../../src/database/common/prepared.ts';
import { markUnsent } from '../../src/database/webhooks/dispatch.ts';
import { listTargetsForGroups } from '../../src/database/webhooks/webhook-targets.ts';
import { recordResults } from '../../src/database/webhooks/delivery-results.ts';
import { successOf } from '../support/results.ts';
import { storedRows } from '../support/stored-rows.ts';
import { readsOf } from '../support/table-reads.ts';
import { useInstallation } from '../support/installation.ts';
import { eventually } from '../support/eventually.ts';

const GROWN = 70_000;

/** Returns how many rows were read without an index, and entries of indexes, so far. */
async function allReadsOf(database: Database, table: string): Promise<number> {
  const { unindexed, entries } = await readsOf(database, table);
  return unindexed + entries;
}

async function increaseOf(read: () => Promise<number>, work: () => Promise<unknown>): Promise<number> {
  const before = await read();
  await work();
  return (await read()) - before;
}

async function insertDeliveries(
  database: Database,
  {
    workspaceId,
    webhookId,
    count,
    status = 'pending',
  }: { workspaceId: string; webhookId: string; count: number; status?: string },
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, created_at, updated_at)
    select gen_random_uuid(), ${workspaceId}::uuid, ${webhookId}::uuid, n, 'e', 'issue.created', ${status}, now(), now()
    from generate_series(1, ${count}::int) n returning id
  `.execute(queryBuilderOf(database));
  return rows.map(({ id }) => id);
}

describe('a statement that was prepared while its table was empty', function () {
  this.timeout(120_000);
  // One connection, so that all plans belong to it.
  const fresh = useInstallation({ poolSize: 1 });
  let database: Database;
  let workspaceId: string;
  let webhookId: string;
  before(async () => {
    ({ database } = fresh);
    workspaceId = fresh.installation.workspace_id;
    const db = queryBuilderOf(database);
    // Only the test may cause new plans.
    await sql`alter table deliveries set (autovacuum_enabled = false)`.execute(db);
    webhookId = await storedRows(fresh).webhook();
  });

  const newDeliveries = (count: number) => insertDeliveries(database, { workspaceId, webhookId, count });

  /** Returns how many rows of the table of deliveries were read without an index during the work. */
  async function rowsRead(work: () => Promise<unknown>): Promise<number> {
    return await increaseOf(async () => (await readsOf(database, 'deliveries')).unindexed, work);
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
    await storedRows(fresh).webhook();
    await sql`
      insert into events (workspace_id, id, event, "timestamp", content_hash, words, received_at, group_id)
      select ${workspaceId}::uuid, 'e' || n, 'issue.created', now(), '', '', now(),
        ('00000000-0000-7000-8000-' || lpad((n / ${IN_GROUP}::int)::text, 12, '0'))::uuid
      from generate_series(0, ${GROUPS * IN_GROUP - 1}::int) n
    `.execute(db);
  });

  it('finds the webhooks of groups by reading only the events of those groups', async () => {
    const newest = Array.from({ length: 10 }, (_, index) => groupId(GROUPS - 1 - index));
    const read = () => allReadsOf(fresh.database, 'events');
    const count = await increaseOf(read, async () => {
      assert.equal((await listTargetsForGroups(fresh.database, newest)).size, 1);
    });
    assert.ok(count > 0 && count <= newest.length * IN_GROUP, `${count} events were read`);
  });
});

describe('a webhook with many waiting deliveries', () => {
  const fresh = useInstallation({ poolSize: 1 });
  const WAITING = 20_000;
  let waiting: string[] = [];
  before(async () => {
    const workspaceId = fresh.installation.workspace_id;
    const db = queryBuilderOf(fresh.database);
    const webhookId = await storedRows(fresh).webhook();
    const insert = (status: string) =>
      insertDeliveries(fresh.database, { workspaceId, webhookId, count: WAITING, status });
    // By its statistics, no delivery waits.
    await sql`alter table deliveries set (autovacuum_enabled = false)`.execute(db);
    await insert('failed');
    await sql`analyze deliveries`.execute(db);
    waiting = await insert('pending');
  });

  it('reads only those that will not be sent when it records why', async () => {
    const unsent = waiting.slice(0, 200).map((id) => ({ id, generation: 0 }));
    const read = () => allReadsOf(fresh.database, 'deliveries');
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
