import assert from 'node:assert/strict';
import { Client, Connection } from '@temporalio/client';
import { readTemporalPlan } from '../../dev/services/temporal-plan.ts';
import { withClient } from '../../dev/services/postgres.ts';
import { freshDatabase, services } from '../support/services.ts';

describe('the test services', () => {
  it('provide separate, migrated databases that can be dropped', async () => {
    const [one, other] = await Promise.all([freshDatabase(), freshDatabase()]);
    await withClient(one.url, (client) => client.query('create table only_here (id int)'));
    const count = "select count(*)::int as n from pg_tables where schemaname = 'public'";
    const tables = await withClient(other.url, (client) => client.query<{ n: number }>(count));
    assert.ok((tables.rows[0]?.n ?? 0) > 3);
    await Promise.all([one.drop(), other.drop()]);
    await assert.rejects(
      withClient(one.url, (client) => client.query('select 1')),
      /does not exist/,
    );
  });

  it('provide a Temporal with the search attributes and the workflow pause of temporal-dev.yml', async () => {
    const { temporalAddress, namespace } = services();
    const connection = await Connection.connect({ address: temporalAddress });
    try {
      const known = await connection.operatorService.listSearchAttributes({ namespace });
      for (const name of Object.keys(readTemporalPlan().search_attributes)) {
        assert.ok(name in known.customAttributes, name);
      }
      const client = new Client({ connection, namespace });
      const run = await client.workflow.start('nothing', { taskQueue: 'nobody', workflowId: 'to-be-paused' });
      const { workflowId } = run;
      const request = { namespace, workflowId, identity: 'test', reason: 'a test', requestId: 'once' };
      await connection.workflowService.pauseWorkflowExecution(request);
      assert.equal((await run.describe()).status.name, 'PAUSED');
      await run.terminate();
    } finally {
      await connection.close();
    }
  });
});
