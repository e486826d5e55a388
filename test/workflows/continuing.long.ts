import assert from 'node:assert/strict';
import { DefaultLogger, Worker } from '@temporalio/worker';
import { workflowBundle } from '../../src/runtime/bundle.ts';
import { teamText } from '../agents/model-world.ts';
import { startCallbackReceiver } from '../support/callback-receiver.ts';
import {
  assertContinued,
  confirmed,
  continues,
  executionsOf,
  feedOf,
  submitLong,
} from '../support/long-runs.ts';
import { eventually } from '../support/eventually.ts';
import { useOwnRuns } from '../support/runs.ts';

const me = { by: 'key:test' };
/** Longer than any test. */
const ENDLESS = { step_ms: 600_000, steps: 2 };

describe('a run with a very long history', function () {
  this.timeout(300_000);
  const runs = useOwnRuns({ agents: teamText().replace('maximum_attempts: 2', 'maximum_attempts: 20') });

  it('is one run for everybody: one feed, and one callback', async () => {
    const receiver = await startCallbackReceiver();
    try {
      const rehearsal = { steps: 12, step_ms: 260 };
      const id = await submitLong(runs, 40, { rehearsal, callbackUrl: receiver.url });
      for (let n = 0; n < 200; n += 1) {
        await confirmed(() => runs.control.pause(id, me));
        await confirmed(() => runs.control.continue(id, me));
      }
      const row = await runs.reaches(id, 'completed', 120_000);
      await receiver.receives(1);
      await assertContinued(runs, id);
      const { steps } = row.output as { steps: { backend: string }[] };
      assert.deepEqual(
        steps.map(({ backend }) => backend),
        row.steps.map(() => 'rehearsal'),
      );
      const feed = await feedOf(runs, id);
      const once = (type: string) => feed.filter((line) => line.startsWith(type));
      for (const type of ['step.started', 'step.completed']) {
        assert.deepEqual(
          once(type),
          row.steps.map(({ name }) => `${type} ${name} 1`),
        );
      }
      assert.equal(once('run.ended').length, 1);
      assert.equal((await runs.attempts(id)).length, 1);
      assert.equal(await confirmed(() => runs.control.pause(id, me)), 'ended');
    } finally {
      await receiver.close();
    }
  });

  it('repeats a failed step up to its last attempt', async () => {
    const id = await submitLong(runs, 40, { rehearsal: { steps: 2, fail: { step: 1, times: 19 } } });
    const row = await runs.reaches(id, 'completed', 120_000);
    await assertContinued(runs, id);
    assert.equal(row.steps[0]?.attempt, 20);
    const started = (await feedOf(runs, id)).filter((line) => line.startsWith('step.started step-1'));
    assert.deepEqual(
      started,
      Array.from({ length: 20 }, (_, index) => `step.started step-1 ${index + 1}`),
    );
  });

  it('can be cancelled at any moment', async () => {
    const submissions = Array.from({ length: 8 }, () =>
      submitLong(runs, 20, { rehearsal: { steps: 50, step_ms: 260 } }),
    );
    await Promise.all(
      submissions.map(async (submission, number) => {
        const id = await submission;
        await continues(runs, id, 2 + (number % 4));
        await confirmed(() => runs.control.cancel(id, me));
        await runs.reaches(id, 'cancelled');
        assert.deepEqual((await feedOf(runs, id)).slice(-2), ['executing → cancelled', 'run.ended']);
      }),
    );
  });

  it('survives the loss of its worker at any moment', async () => {
    const id = await submitLong(runs, 20, { rehearsal: { steps: 16, step_ms: 260 } });
    for (let number = 2; number < 5; number += 1) {
      await continues(runs, id, number);
      await runs.restartWorker();
    }
    await runs.reaches(id, 'completed', 120_000);
    const completed = (await feedOf(runs, id)).filter((line) => line.startsWith('step.completed'));
    assert.equal(completed.length, 16);
  });

  it('replays in each of its executions', async () => {
    const rehearsal = { steps: 8, step_ms: 260, fail: { step: 2, times: 3 }, plan_ms: 300 };
    const id = await submitLong(runs, 25, { rehearsal });
    for (let n = 0; n < 20; n += 1) {
      await confirmed(() => runs.control.pause(id, me));
      await confirmed(() => runs.control.continue(id, me));
    }
    await runs.reaches(id, 'completed', 120_000);
    await assertContinued(runs, id);
    const bundle = await workflowBundle(new DefaultLogger('ERROR'));
    for (const { runId } of await executionsOf(runs, id)) {
      const history = await runs.client.workflow.getHandle(id, runId).fetchHistory();
      await Worker.runReplayHistory({ workflowBundle: bundle, replayName: runId }, history);
    }
  });

  it('repeats a step in progress if its history grows and the step does not end', async () => {
    const id = await submitLong(runs, 12, { rehearsal: ENDLESS });
    await runs.becomes('it works', id, ({ steps }) => steps[0]?.status === 'running');
    await eventually('a second execution', async () => {
      await confirmed(() => runs.control.pause(id, me));
      await confirmed(() => runs.control.continue(id, me));
      return (await executionsOf(runs, id)).length >= 2;
    });
    const view = await runs.view(id);
    assert.deepEqual([view.steps[0]?.status, view.steps[0]?.attempt], ['running', 1]);
    await eventually('the step is running again', async () => {
      const { raw } = await runs.client.workflow.getHandle(id).describe();
      return raw.pendingActivities?.some(({ activityType }) => activityType?.name === 'rehearse') === true;
    });
    await confirmed(() => runs.control.cancel(id, me));
    await runs.reaches(id, 'cancelled');
    const started = (await feedOf(runs, id)).filter((line) => line.startsWith('step.started'));
    assert.deepEqual(started, ['step.started step-1 1']);
  });

  it('is deleted with all its executions', async () => {
    const id = await submitLong(runs, 20, { rehearsal: { steps: 6, step_ms: 260 } });
    await runs.reaches(id, 'completed');
    const executions = await assertContinued(runs, id);
    await confirmed(() => runs.control.deleteRun(id));
    for (const { runId } of executions) {
      await eventually('it is deleted', async () => {
        const handle = runs.client.workflow.getHandle(id, runId);
        return await handle.describe().then(
          () => false,
          () => true,
        );
      });
    }
  });
});
