import assert from 'node:assert/strict';
import { pino } from 'pino';
import { giveUpCallback } from '../../src/database/tasks/callbacks.ts';
import { recordChange } from '../../src/database/tasks/feed.ts';
import type { TaskRunRow } from '../../src/database/tasks/task-runs.ts';
import { viewOfRow } from '../../src/database/tasks/run-views.ts';
import { applyEngineEnd } from '../../src/domain/tasks/engine-changes.ts';
import { startUnsentCallbacks, sweep } from '../../src/reconciler/reconcile.ts';
import { createRunInspector } from '../../src/reconciler/run-inspector.ts';
import { runToStart } from '../../src/temporal/task-control.ts';
import { callbackWorkflowId } from '../../src/temporal/task-messages.ts';
import { useCallbackReceiver } from '../support/callback-receiver.ts';
import { eventually } from '../support/eventually.ts';
import { useRuns, type Runs } from '../support/runs.ts';

const log = pino({ level: 'silent' });

const inspectorOf = ({ client, configuration }: Runs) =>
  createRunInspector({ client, taskQueue: configuration.taskQueue, log });

/** Records the end of a run, of which its workflow does not know. */
async function recordFailure(
  { database }: Runs,
  row: TaskRunRow,
  code: 'step_failed' | 'engine_timed_out',
): Promise<void> {
  const end = { state: 'failed', code, message: 'it failed' } as const;
  const change = applyEngineEnd(viewOfRow(row), row.created_at, end, new Date());
  await recordChange(database, { executionId: row.id, ...change });
}

describe('a run whose worker died after it recorded the end', () => {
  const runs = useRuns();
  const receiver = useCallbackReceiver('each test');

  it('is called back by the next worker, and ends in Temporal as it was recorded', async () => {
    const id = await runs.store({ rehearsal: { steps: 1 }, callbackUrl: receiver.url });
    const row = await runs.row(id);
    // The worker died before Temporal got the result of the workflow task, so the workflow starts again.
    await recordFailure(runs, row, 'step_failed');
    await runs.control.start(runToStart(row, false));
    const [request] = await receiver.receives(1);
    assert.equal(JSON.parse(request?.body.toString() ?? '').status, 'failed');
    await runs.ends(id);
    const { callback_status } = await runs.row(id);
    const { status } = await runs.client.workflow.getHandle(id).describe();
    assert.deepEqual([callback_status, status.name], ['delivered', 'FAILED']);
  });

  it('is called back after a sweep, if its workflow waits for an answer', async () => {
    const ask = { step: 1, question: 'May I?' };
    const id = await runs.submit({ rehearsal: { steps: 1, ask }, callbackUrl: receiver.url });
    const row = await runs.reaches(id, 'paused');
    await recordFailure(runs, row, 'step_failed');
    const engine = inspectorOf(runs);
    const { database, control } = runs;
    const clock = () => new Date(Date.now() + 2 * 60_000);
    await eventually('the workflow is listed and ended', async () => {
      await sweep({ database, control, engine, log, clock, runsKeptDays: 1 });
      return (await engine.stateOf(id)).kind === 'closed';
    });
    await receiver.receives(1);
    assert.equal((await runs.row(id)).callback_status, 'delivered');
  });

  it('is called back although the workflow of its callback was terminated', async () => {
    const id = await runs.store({ rehearsal: { steps: 1 }, callbackUrl: receiver.url });
    await recordFailure(runs, await runs.row(id), 'engine_timed_out');
    const engine = inspectorOf(runs);
    await runs.restartWorker(async () => {
      assert.equal(await engine.startCallback(id), true);
      assert.equal(await engine.startCallback(id), false, 'it is running');
      await runs.client.workflow.getHandle(callbackWorkflowId(id)).terminate();
    });
    const { database, control } = runs;
    const clock = () => new Date(Date.now() + 2 * 60_000);
    await startUnsentCallbacks({ database, control, engine, log, clock, runsKeptDays: 1 });
    await receiver.receives(1);
    await runs.becomes('the callback is delivered', id, (one) => one.callback_status === 'delivered');
  });
});

describe('a run that has ended and waits for the receiver of its callback', () => {
  const runs = useRuns();
  const receiver = useCallbackReceiver('each test');

  it('is not signalled', async () => {
    receiver.hanging();
    const id = await runs.submit({ rehearsal: { steps: 1 }, callbackUrl: receiver.url });
    await receiver.receives(1);
    const handle = runs.client.workflow.getHandle(id);
    await eventually('the workflow sends the callback', async () => {
      const { raw } = await handle.describe();
      return raw.pendingActivities?.length === 1 && !raw.pendingWorkflowTask;
    });
    const engine = inspectorOf(runs);
    assert.equal(await engine.cancelWaiting(id, { by: 'system' }), false);
    await giveUpCallback(runs.database, id, new Date());
  });
});
