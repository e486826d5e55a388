import assert from 'node:assert/strict';
import { claimDuePushes, listPushConfigs, savePushConfig } from '../../src/database/tasks/push.ts';
import { insertRun } from '../../src/database/tasks/task-runs.ts';
import { useInstallation } from '../support/installation.ts';
import { newRunRow } from '../support/run-row.ts';

describe('the search for due push notifications', () => {
  const fresh = useInstallation();
  const now = new Date();
  const execute = (text: string, values: unknown[]) => fresh.database.em.fork().execute(text, values);
  let executionId: string;
  beforeEach(async () => {
    const run = newRunRow(fresh.installation);
    await insertRun(fresh.database, run);
    executionId = run.id;
    const config = {
      executionId,
      id: 'one',
      url: 'https://receiver.example.com/',
      secrets: '',
      after: 0,
      now,
    };
    await savePushConfig(fresh.database, config);
  });

  /** Adds an event of the run. */
  async function add(seq: number, type: string): Promise<void> {
    await execute(
      `insert into task_events (execution_id, seq, key, type, at, data) values (?, ?, ?, ?, now(), '{}')`,
      [executionId, seq, String(seq), type],
    );
    await execute('update task_runs set last_seq = ? where id = ?', [seq, executionId]);
  }
  const claim = () =>
    claimDuePushes(fresh.database, { now, until: new Date(now.getTime() + 60_000), limit: 10 });
  const config = async () => (await listPushConfigs(fresh.database, executionId))[0];

  it('finds nothing without events', async () => {
    assert.deepEqual(await claim(), []);
  });

  it('reads events that cause no notification once, and finds a later one that does', async () => {
    await add(1, 'step.progress');
    await add(2, 'step.progress');
    assert.deepEqual(await claim(), []);
    assert.deepEqual([(await config())?.seen_seq, (await config())?.claimed_until ?? null], [2, null]);
    // An event that was read is not read again.
    await execute(`update task_events set type = 'state.changed' where execution_id = ?`, [executionId]);
    assert.deepEqual(await claim(), []);
    await add(3, 'state.changed');
    assert.deepEqual(await claim(), [{ executionId, id: 'one' }]);
    assert.equal((await config())?.seen_seq, 2, 'the notification is not sent yet');
    assert.deepEqual(await claim(), [], 'while it is claimed');
  });

  it('finds an event before others that cause no notification', async () => {
    await add(1, 'run.ended');
    await add(2, 'step.progress');
    assert.deepEqual(await claim(), [{ executionId, id: 'one' }]);
  });
});
