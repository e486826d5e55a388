import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { queryBuilderOf, type Database } from '../../src/database/database.ts';
import { runPrepared } from '../../src/database/common/prepared.ts';
import { recordResults } from '../../src/database/webhooks/delivery-results.ts';
import { successOf } from '../support/results.ts';
import { useInstallation } from '../support/installation.ts';
import { eventually } from '../support/eventually.ts';

const GROWN = 70_000;

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

  /** Returns how many rows of the table were read without an index during the work. */
  async function rowsRead(work: () => Promise<unknown>): Promise<number> {
    const before = await readSoFar();
    await work();
    return (await readSoFar()) - before;
  }

  async function readSoFar(): Promise<number> {
    const db = queryBuilderOf(database);
    await sql`select pg_stat_force_next_flush()`.execute(db);
    const { rows } = await sql<{ read: string }>`
      select seq_tup_read as read from pg_stat_user_tables where relname = 'deliveries'
    `.execute(db);
    return Number(rows[0]?.read);
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
