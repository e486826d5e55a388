import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { findRun } from '../../src/database/tasks/task-runs.ts';
import { createRunInspector } from '../../src/reconciler/run-inspector.ts';
import { sweep } from '../../src/reconciler/reconcile.ts';
import { useModels } from '../agents/model-world.ts';
import { startCallbackReceiver } from '../support/callback-receiver.ts';
import { eventually } from '../support/eventually.ts';
import { useRuns } from '../support/runs.ts';
import { services } from '../support/services.ts';

const me = { by: 'key:test' };
/** Longer than any test: such a step ends only if it is cancelled. */
const ENDLESS = { step_ms: 600_000, steps: 2 };

/**
 * time.test.ts shows what pauses do before, during and after each phase; test/api/steer.test.ts and
 * test/api/engine-pause.test.ts show what else requests do to paused runs.
 */
describe('a pause of a run', function () {
  const world = useModels();

  /** Returns the state changes in the events, as `from → to`. */
  const moves = async (id: string) =>
    (await world.runs.events(id))
      .filter((event) => event.type === 'state.changed')
      .map(({ data }) => `${String(data['from'])} → ${String(data['to'])}`);
  const webUi = async (verb: 'pause' | 'unpause', id: string) => {
    const request = {
      namespace: services().namespace,
      workflowId: id,
      identity: 'operator@example.com',
      reason: 'having a look',
      requestId: randomUUID(),
    };
    const { workflowService } = world.runs.client;
    await (verb === 'pause'
      ? workflowService.pauseWorkflowExecution(request)
      : workflowService.unpauseWorkflowExecution(request));
  };
  /** Starts a run of two steps. The model call of the first step lasts until `open` is called. */
  async function heldRun() {
    const held = await world.hold(undefined, { taskType: 'feature' });
    await eventually('the first step is running', () => world.asked(held.id).length === 1);
    return held;
  }
  /** Starts a rehearsed run whose first step does not end by itself. */
  async function endlessRun(submission = {}) {
    const id = await world.runs.submit({ rehearsal: ENDLESS, ...submission });
    await world.runs.becomes('the first step is running', id, ({ steps }) => steps[0]?.status === 'running');
    return id;
  }
  const isOver = (id: string) =>
    world.runs.becomes('the pause is over', id, ({ state }) => state !== 'paused');

  it('keeps a run from ending after its last step', async () => {
    const { id, open } = await world.hold();
    await eventually('the only step is running', () => world.asked(id).length === 1);
    await world.runs.control.pause(id, me);
    await world.runs.reaches(id, 'paused');
    open();
    await world.runs.becomes('the step ends', id, ({ steps }) => steps[0]?.status === 'completed');
    const view = await world.runs.view(id);
    assert.deepEqual([view.state, view.paused_by, view.completed_at], ['paused', me.by, null]);
    await world.runs.control.continue(id, me);
    await world.runs.reaches(id, 'completed');
  });

  it('outlives a restart of the worker', async () => {
    const { id, open } = await heldRun();
    await world.runs.control.pause(id, me);
    await world.runs.reaches(id, 'paused');
    open();
    await world.runs.becomes('the step ends', id, ({ steps }) => steps[0]?.status === 'completed');
    await world.runs.restartWorker();
    assert.equal((await world.runs.view(id)).state, 'paused', 'the new worker has the pause');
    await world.runs.control.continue(id, me);
    await world.runs.reaches(id, 'completed');
  });

  it('repeated 100 times without a worker adds few events, and a later cancel takes effect', async () => {
    const id = await endlessRun();
    await world.runs.restartWorker(async () => {
      for (let n = 0; n < 100; n += 1) {
        await world.runs.control.pause(id, me);
        await world.runs.control.continue(id, me);
      }
      await world.runs.control.cancel(id, me);
    });
    await world.runs.reaches(id, 'cancelled');
    assert.ok((await moves(id)).length < 30, `${(await moves(id)).length} changes`);
  });

  it('follows from signals without input, which the Temporal Web UI can send', async () => {
    const id = await endlessRun();
    const handle = world.runs.client.workflow.getHandle(id);
    await handle.signal('engine-paused');
    await handle.signal('engine-paused', { pausedAt: 'now', by: 'a person' });
    await handle.signal('approval-asked');
    await handle.signal('approval-asked', { stepId: id, attempt: 1, call: 1, text: 'May I?' });
    await handle.signal('pause');
    const row = await world.runs.reaches(id, 'paused');
    assert.equal(row.paused_by, 'temporal');
    await handle.signal('continue', 'please');
    await isOver(id);
    await handle.signal('cancel');
    await world.runs.reaches(id, 'cancelled');
  });

  describe('in the Temporal Web UI', () => {
    it('is recorded with its author, as is its end', async () => {
      const { id, open } = await heldRun();
      await webUi('pause', id);
      const paused = await world.runs.reaches(id, 'paused');
      assert.equal(paused.paused_by, 'temporal: operator@example.com');
      await webUi('unpause', id);
      await isOver(id);
      open();
      const row = await world.runs.reaches(id, 'completed');
      assert.ok(row.paused_ms > 0);
      assert.equal((await moves(id)).filter((move) => move.includes('paused')).length, 2);
    });

    it('does not end before the pause through the API', async () => {
      const { id, open } = await heldRun();
      await world.runs.control.pause(id, me);
      await world.runs.reaches(id, 'paused');
      await webUi('pause', id);
      await world.runs.becomes('the pause is recorded', id, (row) => row.engine_pause_signalled);
      await webUi('unpause', id);
      const row = await world.runs.becomes('its end is recorded', id, (now) => now.engine_paused_at == null);
      assert.deepEqual([row.state, row.paused_by], ['paused', 'key:test']);
      await world.runs.control.continue(id, me);
      open();
      await world.runs.reaches(id, 'completed');
    });

    it('does not outlast its end if the run was also paused through the API', async () => {
      const { id, open } = await heldRun();
      await world.runs.restartWorker(async () => {
        await world.runs.control.pause(id, me);
        await webUi('pause', id);
      });
      await world.runs.becomes('the pause is recorded', id, (row) => row.engine_pause_signalled);
      await webUi('unpause', id);
      const row = await world.runs.becomes('its end is recorded', id, (now) => now.engine_paused_at == null);
      assert.equal(row.state, 'paused', 'the pause through the API holds');
      await world.runs.control.continue(id, me);
      open();
      await world.runs.reaches(id, 'completed');
    });
  });

  describe('is one of several operations in the Temporal Web UI:', () => {
    it('a cancellation ends the run as cancelled', async () => {
      const id = await endlessRun();
      const handle = world.runs.client.workflow.getHandle(id);
      await handle.cancel();
      await world.runs.reaches(id, 'cancelled');
      await world.runs.ends(id);
      assert.equal((await handle.describe()).status.name, 'CANCELLED');
    });

    it('a termination ends the run as cancelled', async () => {
      const id = await endlessRun({ callbackUrl: 'https://127.0.0.1:1/' });
      await world.runs.client.workflow.getHandle(id).terminate('enough');
      const row = await world.runs.reaches(id, 'cancelled');
      assert.deepEqual(
        row.steps.map((step) => step.status),
        ['cancelled', 'skipped'],
      );
      assert.equal(row.callback_status, 'none');
      assert.equal((await world.runs.events(id)).at(-1)?.type, 'run.ended');
    });

    it('a deletion ends the run as cancelled at the next sweep', async () => {
      const { client, configuration, control, database } = world.runs;
      const id = await endlessRun();
      await client.workflowService.deleteWorkflowExecution({
        namespace: services().namespace,
        workflowExecution: { workflowId: id },
      });
      const log = pino({ level: 'silent' });
      const engine = createRunInspector({ client, taskQueue: configuration.taskQueue, log });
      // The sweep skips runs that were submitted very recently.
      const clock = () => new Date(Date.now() + 60_000);
      await eventually('the run is cancelled', async () => {
        await sweep({ database, engine, control, clock, log, runsKeptDays: 180 });
        return (await world.runs.row(id)).state === 'cancelled';
      });
    });

    it('a workflow timeout fails the run, and the callback is sent', async () => {
      const receiver = await startCallbackReceiver();
      try {
        const id = await world.runs.store({ rehearsal: ENDLESS, callbackUrl: receiver.url });
        const { created_at } = await world.runs.row(id);
        await world.runs.client.workflow.start('taskRun', {
          workflowId: id,
          taskQueue: `${world.runs.configuration.taskQueue}-runs`,
          workflowExecutionTimeout: '1 s',
          args: [
            {
              executionId: id,
              createdAt: created_at.toISOString(),
              hasCallback: true,
              taskType: 'feature',
              findBy: null,
              rehearsal: ENDLESS,
            },
          ],
        });
        const { client, configuration } = world.runs;
        const log = pino({ level: 'silent' });
        const engine = createRunInspector({ client, taskQueue: configuration.taskQueue, log });
        // The reconciler reads this list every second, so that an end in Temporal is visible within 3 s.
        await eventually('the run is listed as closed from outside', async () =>
          (await engine.runsClosedFromOutside(new Date())).includes(id),
        );
        const row = await world.runs.reaches(id, 'failed');
        assert.equal(row.errors[0]?.code, 'engine_timed_out');
        await receiver.receives(1);
        await world.runs.becomes(
          'the callback is delivered',
          id,
          (now) => now.callback_status === 'delivered',
        );
      } finally {
        await receiver.close();
      }
    });
  });
});

describe('a stored run', function () {
  const runs = useRuns();

  it('is removed at the end of its retention time', async () => {
    const [old, young] = await Promise.all([runs.submit({}), runs.submit({})]);
    await Promise.all([runs.reaches(old, 'completed'), runs.reaches(young, 'completed')]);
    const ended = (id: string, days: number) =>
      runs.database.em
        .fork()
        .execute(`update task_runs set completed_at = now() - interval '${days} days' where id = ?`, [id]);
    await ended(old, 181);
    await ended(young, 179);
    await runs.restartWorker();
    await eventually('the old run is removed', async () => (await findRun(runs.database, old)) === null);
    assert.equal((await runs.row(young)).state, 'completed');
    assert.deepEqual(await runs.events(old), []);
  });

  it('whose workflow never started is found behind many active runs, and started', async () => {
    const em = runs.database.em.fork();
    try {
      await em.execute(
        `insert into task_runs (id, workspace_id, project_id, created_by, title, task_type, callback_secret,
                                created_at, updated_at, state, last_seq, view_seq)
         select gen_random_uuid(), ?, ?, 'key:test', 'filler', 'chore', '', now() - interval '1 hour', now(),
                'executing', 1, 1
         from generate_series(1, 600)`,
        [runs.installation.workspace_id, runs.installation.project_id],
      );
      const id = await runs.store({ rehearsal: { steps: 1 } });
      // As if its request had been aborted some time ago.
      await em.execute(`update task_runs set created_at = now() - interval '1 minute' where id = ?`, [id]);
      await runs.reaches(id, 'completed');
    } finally {
      await em.execute(`delete from task_runs where title = 'filler'`);
    }
  });
});
