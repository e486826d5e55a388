import assert from 'node:assert/strict';
import { insertRerun } from '../../src/database/tasks/reruns.ts';
import { listStepResults, storeStepResult } from '../../src/database/tasks/step-results.ts';
import { findRun } from '../../src/database/tasks/task-runs.ts';
import { storeEndedRun } from '../support/ended-run.ts';
import { useInstallation } from '../support/installation.ts';
import { newRunRow } from '../support/run-row.ts';

describe('a rerun', () => {
  const fresh = useInstallation({ poolSize: 2 });

  it('is not stored if the outputs of its kept steps cannot be copied', async () => {
    const { database, installation } = fresh;
    const from = await storeEndedRun(fresh, 'https://receiver.example.com/');
    const run = newRunRow(installation, { rerun_of: from });
    const steps = [{ name: 'design', earlierId: 'not the id of a step', id: run.id }];
    await assert.rejects(insertRerun(database, run, { from, steps }), /uuid/);
    assert.equal(await findRun(database, run.id), null);
    await insertRerun(database, run, { from, steps: [] });
    assert.equal((await findRun(database, run.id))?.rerun_of, from);
  });

  it('has its own result of a repeated step, and those of the earlier run of the others', async () => {
    const { database, installation } = fresh;
    const from = await storeEndedRun(fresh, 'https://receiver.example.com/');
    const run = newRunRow(installation, { rerun_of: from });
    await insertRerun(database, run, { from, steps: [] });
    const store = (executionId: string, step: string, text: string) =>
      storeStepResult(database, executionId, { step, agent: 'ada', text, attempt: 1 });
    await store(from, 'design', 'the first design');
    await store(from, 'build', 'the first build');
    await database.em
      .fork()
      .execute(`update step_results set written_at = written_at - interval '1 hour' where execution_id = ?`, [
        from,
      ]);
    await store(run.id, 'build', 'the second build');
    const results = await listStepResults(database, run.id, ['design', 'build']);
    assert.deepEqual(
      results.map(({ text }) => text),
      ['the first design', 'the second build'],
    );
    const next = newRunRow(installation, { rerun_of: run.id });
    await insertRerun(database, next, { from: run.id, steps: [] });
    const later = await listStepResults(database, next.id, ['design', 'build']);
    assert.deepEqual(later, results, 'a rerun of the rerun has them, too');
  });
});

describe('the result of a step', () => {
  const fresh = useInstallation({ poolSize: 2 });

  it('is the one of the last attempt, also if an earlier attempt is repeated late', async () => {
    const { database } = fresh;
    const id = await storeEndedRun(fresh, 'https://receiver.example.com/');
    for (const [attempt, text] of [
      [1, 'first'],
      [2, 'second'],
      [2, 'second, repeated'],
      [1, 'first, repeated'],
    ] as const)
      await storeStepResult(database, id, { step: 'build', agent: 'ada', text, attempt });
    const [result] = await listStepResults(database, id, ['build']);
    assert.equal(result?.text, 'second, repeated');
  });
});
