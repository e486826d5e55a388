import assert from 'node:assert/strict';
import {
  claimDuePushes,
  listPushConfigs,
  savePushConfig,
  settlePush,
} from '../../src/database/tasks/push.ts';
import { MAX_A2A_PUSH_CONFIGS } from '../../src/domain/common/limits.ts';
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
  const claim = (at = now) =>
    claimDuePushes(fresh.database, { now: at, until: new Date(at.getTime() + 60_000), limit: 10 });
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

  it('finds an event again when the claim of a process that died has expired', async () => {
    await add(1, 'state.changed');
    await claim();
    const later = new Date(now.getTime() + 60_001);
    const claimed = await claim(later);
    assert.ok(claimed.some((push) => push.executionId === executionId));
  });

  it('finds no event again if an earlier one is settled late', async () => {
    await add(1, 'state.changed');
    await add(2, 'state.changed');
    const push = { executionId, id: 'one' };
    await settlePush(fresh.database, { ...push, seq: 2 }, false);
    await settlePush(fresh.database, { ...push, seq: 1 }, false);
    assert.deepEqual(await claim(), []);
  });

  it('replaces an address of a run that has as many as it can have', async () => {
    const save = (id: string, url: string) =>
      savePushConfig(fresh.database, { executionId, id, url, secrets: url, after: 0, now });
    for (let count = 1; count < MAX_A2A_PUSH_CONFIGS; count += 1)
      assert.equal(await save(`other-${count}`, 'https://receiver.example.com/'), 'saved');
    assert.equal(await save('one more', 'https://receiver.example.com/'), 'full');
    assert.equal(await save('one', 'https://other.example.com/'), 'saved');
    const one = (await listPushConfigs(fresh.database, executionId)).find(({ id }) => id === 'one');
    assert.deepEqual([one?.url, one?.secrets], ['https://other.example.com/', 'https://other.example.com/']);
  });

  it('finds an event before others that cause no notification', async () => {
    await add(1, 'run.ended');
    await add(2, 'step.progress');
    assert.deepEqual(await claim(), [{ executionId, id: 'one' }]);
  });
});
