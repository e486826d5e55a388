import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { findRun } from '../../src/database/task-runs.ts';
import { services } from '../support/services.ts';
import { eventually } from '../support/eventually.ts';
import { startRuns, type Runs } from '../support/runs.ts';

const me = { by: 'key:test' };

describe('pausing a run', function () {
  let runs: Runs;
  before(async () => {
    runs = await startRuns();
  });
  after(() => runs.close());

  /** What the feed says of the state, as `from → to`. */
  const moves = async (id: string) =>
    (await runs.events(id))
      .filter((event) => event.type === 'state.changed')
      .map(({ data }) => `${String(data['from'])} → ${String(data['to'])}`);
  const webUi = (verb: 'pause' | 'unpause', id: string) => {
    const request = {
      namespace: services().namespace,
      workflowId: id,
      identity: 'operator@example.com',
      reason: 'having a look',
      requestId: randomUUID(),
    };
    return verb === 'pause'
      ? runs.client.workflowService.pauseWorkflowExecution(request)
      : runs.client.workflowService.unpauseWorkflowExecution(request);
  };
  const startedSteps = async (id: string) =>
    (await runs.events(id)).filter((event) => event.type === 'step.started').length;

  const PHASES = [
    ['initializing', { start_ms: 400, steps: 1 }],
    ['planning', { plan_ms: 400, steps: 1 }],
    ['executing', { step_ms: 400, steps: 2 }],
  ] as const;
  for (const [phase, rehearsal] of PHASES) {
    it(`in ${phase} starts nothing more, and continues in ${phase}`, async () => {
      const id = await runs.submit({ rehearsal });
      await runs.reaches(id, phase);
      await runs.control.pause(id, me);
      const paused = await runs.reaches(id, 'paused');
      assert.equal(paused.paused_from, phase);
      assert.equal(paused.paused_by, 'key:test');
      const before = await startedSteps(id);
      await wait(900);
      assert.equal((await runs.row(id)).state, 'paused');
      assert.equal(await startedSteps(id), before);
      await runs.control.continue(id, me);
      await runs.reaches(id, 'completed');
      const all = await moves(id);
      const at = all.indexOf(`${phase} → paused`);
      assert.deepEqual(all.slice(at, at + 2), [`${phase} → paused`, `paused → ${phase}`]);
    });
  }

  it('keeps the result of a step that was in flight', async () => {
    const id = await runs.submit({ rehearsal: { step_ms: 400, steps: 2 } });
    await runs.reaches(id, 'executing');
    await runs.control.pause(id, me);
    await runs.reaches(id, 'paused');
    const row = await eventually('the step ends while paused', async () => {
      const now = await runs.row(id);
      return now.steps[0]?.status === 'completed' && now;
    });
    assert.equal(row.state, 'paused');
    assert.equal(row.steps[1]?.status, 'pending');
    await runs.control.continue(id, me);
    await runs.reaches(id, 'completed');
  });

  it('twice in a row is the same as once, and so is continuing', async () => {
    const id = await runs.submit({ rehearsal: { step_ms: 300, steps: 3 } });
    await runs.reaches(id, 'executing');
    await runs.control.pause(id, me);
    await runs.control.pause(id, { by: 'key:other' });
    const row = await runs.reaches(id, 'paused');
    assert.equal(row.paused_by, 'key:test');
    await runs.control.continue(id, me);
    await runs.control.continue(id, me);
    await runs.reaches(id, 'completed');
    assert.equal((await moves(id)).filter((move) => move.includes('paused')).length, 2);
  });

  it('before a cancel ends the run cancelled', async () => {
    const id = await runs.submit({
      rehearsal: { step_ms: 5_000, steps: 2 },
      callbackUrl: 'https://127.0.0.1:1/',
    });
    await runs.reaches(id, 'executing');
    await runs.control.pause(id, me);
    await runs.reaches(id, 'paused');
    await runs.control.cancel(id, { by: 'key:test', reason: 'enough' });
    const row = await runs.reaches(id, 'cancelled');
    assert.equal(row.callback_status, 'none');
    assert.deepEqual(
      row.steps.map((step) => step.status),
      ['cancelled', 'skipped'],
    );
    const last = (await runs.events(id)).filter((event) => event.type === 'state.changed').at(-1);
    assert.deepEqual(last?.data, { from: 'paused', to: 'cancelled', by: 'key:test', reason: 'enough' });
  });

  it('outlives the worker', async () => {
    const id = await runs.submit({ rehearsal: { step_ms: 300, steps: 2 } });
    await runs.reaches(id, 'executing');
    await runs.control.pause(id, me);
    await runs.reaches(id, 'paused');
    await runs.restartWorker();
    await wait(500);
    assert.equal((await runs.row(id)).state, 'paused');
    await runs.control.continue(id, me);
    await runs.reaches(id, 'completed');
  });

  it('obeys signals that come without any input, as the Web UI can send them', async () => {
    const id = await runs.submit({ rehearsal: { step_ms: 300, steps: 3 } });
    await runs.reaches(id, 'executing');
    const handle = runs.client.workflow.getHandle(id);
    await handle.signal('engine-paused');
    await handle.signal('pause');
    const row = await runs.reaches(id, 'paused');
    assert.equal(row.paused_by, 'temporal');
    await handle.signal('continue', 'please');
    await eventually('it goes on', async () => (await runs.row(id)).state !== 'paused');
    await handle.signal('cancel');
    await runs.reaches(id, 'cancelled');
  });

  it('an ended run is answered as ended', async () => {
    const id = await runs.submit({ rehearsal: { steps: 1 } });
    await runs.reaches(id, 'completed');
    await runs.client.workflow.getHandle(id).result();
    assert.equal(await runs.control.pause(id, me), 'ended');
    assert.equal(await runs.control.cancel(id, me), 'ended');
  });

  describe('in the Temporal Web UI', () => {
    it('shows within 3 s, with who did it, and so does its end', async () => {
      const id = await runs.submit({ rehearsal: { step_ms: 400, steps: 3 } });
      await runs.reaches(id, 'executing');
      await webUi('pause', id);
      const paused = await runs.reaches(id, 'paused');
      assert.equal(paused.paused_by, 'temporal: operator@example.com');
      await wait(800);
      assert.equal((await runs.row(id)).state, 'paused');
      await webUi('unpause', id);
      await eventually('the pause is over', async () => (await runs.row(id)).state !== 'paused');
      const row = await runs.reaches(id, 'completed');
      assert.ok(row.paused_ms >= 800);
      assert.equal((await moves(id)).filter((move) => move.includes('paused')).length, 2);
    });

    it('holds while one of the two pauses holds', async () => {
      const id = await runs.submit({ rehearsal: { step_ms: 300, steps: 3 } });
      await runs.reaches(id, 'executing');
      await runs.control.pause(id, me);
      await runs.reaches(id, 'paused');
      await webUi('pause', id);
      await eventually('seen', async () => (await runs.row(id)).engine_pause_signalled);
      await webUi('unpause', id);
      await eventually('noted', async () => (await runs.row(id)).engine_paused_at == null);
      await wait(500);
      assert.equal((await runs.row(id)).state, 'paused');
      assert.equal((await runs.row(id)).paused_by, 'key:test');
      await runs.control.continue(id, me);
      await runs.reaches(id, 'completed');
    });

    it('is lifted by continue', async () => {
      const id = await runs.submit({ rehearsal: { step_ms: 300, steps: 3 } });
      await runs.reaches(id, 'executing');
      await webUi('pause', id);
      await runs.reaches(id, 'paused');
      await runs.control.continue(id, me);
      await runs.reaches(id, 'completed');
    });

    it('is lifted by cancel', async () => {
      const id = await runs.submit({ rehearsal: { step_ms: 5_000, steps: 1 } });
      await runs.reaches(id, 'executing');
      await webUi('pause', id);
      await runs.reaches(id, 'paused');
      await runs.control.cancel(id, me);
      await runs.reaches(id, 'cancelled');
    });
  });
});

describe('what an operator does in the Temporal Web UI', function () {
  let runs: Runs;
  before(async () => {
    runs = await startRuns();
  });
  after(() => runs.close());

  it('cancel ends the run cancelled', async () => {
    const id = await runs.submit({ rehearsal: { step_ms: 5_000, steps: 1 } });
    await runs.reaches(id, 'executing');
    await runs.client.workflow.getHandle(id).cancel();
    await runs.reaches(id, 'cancelled');
    await runs.client.workflow
      .getHandle(id)
      .result()
      .catch(() => {});
    assert.equal((await runs.client.workflow.getHandle(id).describe()).status.name, 'CANCELLED');
  });

  it('terminate ends the run cancelled within 3 s', async () => {
    const id = await runs.submit({
      rehearsal: { step_ms: 5_000, steps: 2 },
      callbackUrl: 'https://127.0.0.1:1/',
    });
    await runs.reaches(id, 'executing');
    await runs.client.workflow.getHandle(id).terminate('enough');
    const row = await runs.reaches(id, 'cancelled');
    assert.deepEqual(
      row.steps.map((step) => step.status),
      ['cancelled', 'skipped'],
    );
    assert.equal(row.callback_status, 'none');
    assert.equal((await runs.events(id)).at(-1)?.type, 'run.ended');
  });

  it('delete ends the run cancelled', async () => {
    const id = await runs.submit({ rehearsal: { step_ms: 20_000, steps: 1 } });
    await runs.reaches(id, 'executing');
    await runs.client.workflowService.deleteWorkflowExecution({
      namespace: services().namespace,
      workflowExecution: { workflowId: id },
    });
    await runs.reaches(id, 'cancelled');
  });

  it('a time-out of the engine fails the run, and the callback is sent', async () => {
    const id = await runs.store({
      rehearsal: { step_ms: 20_000, steps: 1 },
      callbackUrl: 'https://127.0.0.1:1/',
    });
    const { created_at } = await runs.row(id);
    await runs.client.workflow.start('taskRun', {
      workflowId: id,
      taskQueue: `${runs.configuration.taskQueue}-runs`,
      workflowExecutionTimeout: '1 s',
      args: [
        {
          executionId: id,
          createdAt: created_at.toISOString(),
          hasCallback: true,
          taskType: 'feature',
          findBy: null,
          rehearsal: { step_ms: 20_000, steps: 1 },
        },
      ],
    });
    const row = await runs.reaches(id, 'failed');
    assert.equal(row.errors[0]?.code, 'engine_timed_out');
    await eventually('three attempts', async () => (await runs.attempts(id)).length === 3);
    await eventually('settled', async () => (await runs.row(id)).callback_status === 'failed');
  });
});

describe('a stored run', function () {
  let runs: Runs;
  before(async () => {
    runs = await startRuns();
  });
  after(() => runs.close());

  it('that ended longer ago than runs are kept is removed, a younger one stays', async () => {
    const [old, young] = await Promise.all([runs.submit({}), runs.submit({})]);
    await Promise.all([runs.reaches(old, 'completed'), runs.reaches(young, 'completed')]);
    const ended = (id: string, days: number) =>
      runs.database.em
        .fork()
        .execute(`update task_runs set completed_at = now() - interval '${days} days' where id = ?`, [id]);
    await ended(old, 181);
    await ended(young, 179);
    await runs.restartWorker();
    await eventually('the old one is gone', async () => (await findRun(runs.database, old)) === null);
    assert.equal((await runs.row(young)).state, 'completed');
    assert.deepEqual(await runs.events(old), []);
  });

  it('whose workflow never started is found behind any number of runs that go on', async () => {
    await runs.database.em.fork().execute(
      `insert into task_runs (id, workspace_id, project_id, created_by, title, task_type, callback_secret,
                              created_at, updated_at, state, last_seq, view_seq)
       select gen_random_uuid(), ?, ?, 'key:test', 'long', 'chore', '', now() - interval '1 hour', now(),
              'executing', 1, 1
       from generate_series(1, 600)`,
      [runs.installation.workspace_id, runs.installation.project_id],
    );
    const id = await runs.store({ rehearsal: { steps: 1 } });
    await runs.reaches(id, 'completed');
  });

  it('whose workflow never started is found and started', async () => {
    const id = await runs.store({ rehearsal: { steps: 1 } });
    await runs.reaches(id, 'completed');
  });
});
