import assert from 'node:assert/strict';
import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { Client } from 'pg';
import { seedRows, analyseTables } from '../../bench/support/seed-rows.ts';
import type { Database } from '../../src/database/database.ts';
import { connectDatabase } from '../../src/database/connect.ts';
import { insertRun } from '../../src/database/tasks/task-runs.ts';
import { setUpInstallation } from '../../src/runtime/installation.ts';
import { newRunRow } from '../support/run-row.ts';
import { freshDatabase, type FreshDatabase } from '../support/services.ts';

describe('seeded rows', function () {
  let fresh: FreshDatabase;
  let database: Database;
  let client: Client;
  before(async () => {
    fresh = await freshDatabase();
    const names = { workspaceName: 'W', projectName: 'P', adminEmail: 'a@example.com' };
    const { workspace_id, project_id } = await setUpInstallation(fresh.url, names);
    database = await connectDatabase(fresh.url, 1);
    client = new Client(fresh.url);
    await client.connect();
    for (let number = 0; number < 3; number += 1) await endedRun(workspace_id, project_id);
    await oneDelivery(workspace_id);
    await seedRows(client, { runs: 200, deliveries: 400 });
    await analyseTables(client);
    await seedRows(client, { runs: 100, deliveries: 100 });
  });
  after(async () => {
    await Promise.all([database.close(), client.end()]);
    await fresh.drop();
  });

  async function endedRun(workspace_id: string, project_id: string): Promise<void> {
    const run = newRunRow(
      { workspace_id, project_id },
      { title: 'T', metadata: '{"a":1}', callback_url: 'https://x' },
    );
    const { id } = run;
    await insertRun(database, run);
    await client.query(`update task_runs set state = 'completed', completed_at = now() where id = $1`, [id]);
    await client.query(
      `insert into task_events (execution_id, seq, key, type, at, data) values ($1, 1, 'k', 't', now(), '{}')`,
      [id],
    );
  }

  async function oneDelivery(workspaceId: string): Promise<void> {
    const [webhook, delivery] = [randomUUID(), randomUUIDv7()];
    await client.query(
      `insert into webhooks (id, workspace_id, name, url, events, created_by, created_at, updated_at)
       values ($1, $2, 'W', 'http://x', '[]', 'x', now(), now())`,
      [webhook, workspaceId],
    );
    await client.query(
      `insert into events (workspace_id, id, event, "timestamp", content_hash, body, words, received_at)
       values ($1, 'e', 'issue.created', now(), '', '{}', 'word', now())`,
      [workspaceId],
    );
    await client.query(
      `insert into deliveries (id, workspace_id, webhook_id, event_seq, event_id, event, status, created_at, updated_at)
       select $1, $2, $3, seq, 'e', 'issue.created', 'succeeded', now(), now() from events`,
      [delivery, workspaceId, webhook],
    );
    await client.query(
      `insert into delivery_attempts (delivery_id, number, "trigger", attempted_at, url, request_headers, timings)
       values ($1, 1, 'automatic', now(), 'http://x', '{}', '{}')`,
      [delivery],
    );
  }

  const countRows = async (from: string): Promise<number> =>
    (await client.query<{ n: number }>(`select count(*)::integer as n from ${from}`)).rows[0]?.n ?? -1;

  it('have the requested number, with all dependent rows', async () => {
    assert.equal(await countRows('task_runs'), 303);
    assert.equal(await countRows('task_events e join task_runs r on r.id = e.execution_id'), 303);
    assert.equal(await countRows('deliveries'), 501);
    assert.equal(
      await countRows('deliveries d join events e on e.seq = d.event_seq and e.id = d.event_id'),
      501,
    );
    assert.equal(await countRows('delivery_attempts a join deliveries d on d.id = a.delivery_id'), 501);
    assert.equal(await countRows('events e join event_groups g on g.id = e.group_id'), 500);
  });

  it('leave no work for the service', async () => {
    assert.equal(await countRows(`task_runs where callback_status = 'pending' and title = 'T'`), 3);
    assert.equal(await countRows('event_groups where done_at is null'), 0);
    assert.equal(await countRows(`deliveries where status in ('pending', 'retrying')`), 0);
  });

  it('have all states, and are spread over weeks and webhooks', async () => {
    assert.equal(await countRows(`task_runs where state = 'failed'`), 12);
    assert.equal(await countRows(`deliveries where status = 'failed'`), 10);
    assert.equal(await countRows('(select from deliveries group by webhook_id) w'), 21);
    assert.ok((await countRows(`task_runs where created_at < now() - interval '20 days'`)) > 30);
    assert.equal(await countRows(`task_runs where created_at < now() - interval '26 days'`), 0);
  });

  it('have ids in the order of their times, and all indexes', async () => {
    assert.equal(
      await countRows(
        `(select created_at < lag(created_at) over (order by id) as back from deliveries) d where back`,
      ),
      0,
    );
    assert.ok((await countRows(`pg_indexes where tablename = 'deliveries'`)) >= 9);
  });
});
