import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import type { Database } from '../../src/database/database.ts';
import {
  listEventsAfterPositions,
  readEnginePausedMs,
  recordChange,
  recordChangeOfView,
} from '../../src/database/tasks/feed.ts';
import { findRun, markEnginePauseSignalled, recordEnginePause } from '../../src/database/tasks/task-runs.ts';
import type { Writer } from '../../src/domain/tasks/run-change.ts';
import type { RunView, Step } from '../../src/domain/tasks/run-schemas.ts';
import { initialView, progressOf } from '../../src/domain/tasks/task-run.ts';
import type { StepStatus } from '../../src/domain/tasks/task-states.ts';
import type { Installation } from '../../src/runtime/installation.ts';
import { feedOf, quietRun, writeEvents } from '../gateway/quiet-runs.ts';
import { useInstallation } from '../support/installation.ts';

describe('the stored view of a run', () => {
  const fresh = useInstallation({ poolSize: 2 });
  let database: Database;
  let installation: Installation;

  before(() => ({ database, installation } = fresh));

  const step = (name: string, status: StepStatus): Step => ({
    id: `id-of-${name}`,
    name,
    agent: 'developer',
    status,
    attempt: status === 'pending' ? 0 : 1,
    started_at: null,
    completed_at: null,
    duration_ms: null,
    summary: status === 'completed' ? `${name} is done` : null,
    usage: null,
    error: null,
  });

  async function recordSteps(
    executionId: string,
    steps: Step[],
    key: string = randomUUIDv7(),
  ): Promise<void> {
    const view = { ...initialView(), state: 'executing' as const, steps, progress: progressOf(steps) };
    const entry = { key, type: 'agent.message' as const, at: new Date().toISOString(), data: {} };
    const { outcome } = await recordChange(database, { executionId, view, entries: [entry] });
    assert.equal(outcome, 'recorded');
  }

  const stored = async (id: string) =>
    (await findRun(database, id))?.steps.map(({ name, status, summary }) => [name, status, summary]);

  it('is updated by each change that its workflow records', async () => {
    const id = await quietRun(database, installation);
    await recordSteps(id, [step('design', 'running'), step('review', 'pending')]);
    await recordSteps(id, [step('design', 'completed'), step('review', 'running')]);
    assert.deepEqual(await stored(id), [
      ['design', 'completed', 'design is done'],
      ['review', 'running', null],
    ]);
    await recordSteps(id, [step('design', 'completed'), step('review', 'failed')]);
    await recordSteps(id, [step('design', 'completed'), step('review', 'running')]);
    assert.deepEqual((await stored(id))?.[1], ['review', 'running', null]);
  });

  it('keeps a step completed if the workflow repeats a lost task with another result', async () => {
    const id = await quietRun(database, installation);
    await recordSteps(id, [
      step('design', 'completed'),
      step('test', 'running'),
      step('review', 'completed'),
    ]);
    // The repeated workflow task receives a cancel first.
    await recordSteps(id, [
      step('design', 'completed'),
      step('test', 'cancelled'),
      step('review', 'cancelled'),
    ]);
    assert.deepEqual(await stored(id), [
      ['design', 'completed', 'design is done'],
      ['test', 'cancelled', null],
      ['review', 'completed', 'review is done'],
    ]);
  });

  it('keeps the steps if the workflow repeats a lost task and is cancelled before it has planned again', async () => {
    const id = await quietRun(database, installation);
    await recordSteps(id, [step('design', 'completed'), step('test', 'running'), step('review', 'pending')]);
    await recordSteps(id, []);
    assert.deepEqual(await stored(id), [
      ['design', 'completed', 'design is done'],
      ['test', 'running', null],
      ['review', 'pending', null],
    ]);
    const at = new Date().toISOString();
    const view = { ...initialView(), state: 'cancelled' as const, completed_at: at };
    const entry = { key: 'run.ended', type: 'run.ended' as const, at, data: {} };
    await recordChange(database, { executionId: id, view, entries: [entry] });
    assert.deepEqual(await stored(id), [
      ['design', 'completed', 'design is done'],
      ['test', 'cancelled', null],
      ['review', 'skipped', null],
    ]);
  });

  it('records the end of a pause in the Web UI if the workflow repeats a lost task', async () => {
    const id = await quietRun(database, installation);
    const at = new Date().toISOString();
    const view = {
      ...initialView(),
      state: 'paused' as const,
      paused_from: 'planning' as const,
      paused_at: at,
    };
    const entry = { key: 'state.changed:1', type: 'state.changed' as const, at, data: {} };
    const paused = { executionId: id, view: { ...view, paused_by: 'key:test' }, entries: [entry] };
    const first = await recordChange(database, paused);
    await recordEnginePause(database, id, new Date());
    assert.deepEqual(await recordChange(database, { ...paused, enginePauseOver: true }), first);
    const row = await findRun(database, id);
    assert.deepEqual([row?.engine_paused_at, row?.state, row?.paused_by], [null, 'paused', 'key:test']);
  });

  it('says of each pause in the Web UI whether it was signalled, also of a second one', async () => {
    const id = await quietRun(database, installation);
    const at = new Date().toISOString();
    const states = { state: 'paused' as const, paused_from: 'planning' as const };
    const view = { ...initialView(), ...states, paused_at: at, paused_by: 'key:test' };
    const entry = { key: 'state.changed:1', type: 'state.changed' as const, at, data: {} };
    await recordChange(database, { executionId: id, view, entries: [entry] });
    const isSignalled = async () => (await findRun(database, id))?.engine_pause_signalled;
    for (const pausedAt of [new Date(1_000), new Date(2_000)]) {
      await recordEnginePause(database, id, pausedAt);
      assert.equal(await isSignalled(), false, pausedAt.toISOString());
      await markEnginePauseSignalled(database, id, pausedAt);
      assert.equal(await isSignalled(), true);
    }
  });

  it('is not changed by a worker whose workflow task another one has repeated since', async () => {
    const id = await quietRun(database, installation);
    const write = async (state: 'planning' | 'executing', key: string, writer: Writer) => {
      const entry = { key, type: 'agent.message' as const, at: new Date().toISOString(), data: {} };
      const view = { ...initialView(), state };
      return await recordChange(database, { executionId: id, view, entries: [entry], writer });
    };
    const first = { runId: 'execution-1', continuedFrom: null, events: 5 };
    await write('planning', 'change-1', first);
    await write('executing', 'change-2', { ...first, events: 8 });
    await assert.rejects(write('planning', 'change-3', first), /another worker has repeated/);
    assert.equal((await write('planning', 'change-1', first)).outcome, 'recorded', 'it was recorded before');
    assert.deepEqual(
      [(await findRun(database, id))?.state, (await feedOf(database, id)).length],
      ['executing', 2],
    );

    await write('planning', 'change-3', { ...first, runId: 'a reset of it', events: 3 });
    await write('executing', 'change-4', { runId: 'execution-2', continuedFrom: 'execution-1', events: 3 });
    await assert.rejects(
      write('planning', 'change-5', { ...first, events: 90 }),
      /another worker has repeated/,
    );
    assert.deepEqual(
      [(await findRun(database, id))?.state, (await feedOf(database, id)).length],
      ['executing', 4],
    );
  });

  it('does not go back when a workflow task is repeated after other signals', async () => {
    const id = await quietRun(database, installation);
    await recordSteps(id, [step('design', 'running')]);
    const record = async (key: string, view: Partial<RunView>, transition: { from: string; to: string }) =>
      await recordChange(database, {
        executionId: id,
        view: { ...initialView(), ...view },
        entries: [{ key, type: 'state.changed', at: new Date().toISOString(), data: transition }],
      });
    const show = async () => {
      const row = await findRun(database, id);
      return [row?.state, row?.paused_from ?? null, row?.steps.length, row?.view_seq];
    };
    const at = new Date().toISOString();
    const paused = {
      state: 'paused' as const,
      paused_from: 'initializing' as const,
      paused_at: at,
      paused_by: 'a',
    };
    assert.deepEqual(await record('1', paused, { from: 'initializing', to: 'paused' }), {
      outcome: 'recorded',
      lastSeq: 2,
    });
    assert.deepEqual(await show(), ['paused', 'executing', 1, 2]);
    await record('2', {}, { from: 'paused', to: 'initializing' });
    assert.deepEqual(await show(), ['executing', null, 1, 3]);
    await writeEvents(database, id, { count: 1, bytes: 1 });
    assert.deepEqual(
      await record('3', { state: 'planning' }, { from: 'initializing', to: 'planning' }),
      { outcome: 'recorded', lastSeq: 3 },
      'as new as the view that is stored, so that readers get that one',
    );
    assert.deepEqual(await show(), ['executing', null, 1, 3]);
    assert.deepEqual(
      (await feedOf(database, id)).flatMap(({ type, data }) =>
        type === 'state.changed' ? [[data['from'], data['to']]] : [],
      ),
      [
        ['executing', 'paused'],
        ['paused', 'executing'],
      ],
    );
  });

  it('does not change after the run has ended, nor does its feed', async () => {
    const id = await quietRun(database, installation);
    const at = new Date().toISOString();
    const view = { ...initialView(), state: 'completed' as const, completed_at: at };
    await recordChange(database, {
      executionId: id,
      view,
      entries: [{ key: 'run.ended', type: 'run.ended', at, data: {} }],
    });
    const before = await findRun(database, id);
    const late = { key: randomUUIDv7(), type: 'agent.message' as const, at, data: {} };
    assert.deepEqual(
      await recordChange(database, { executionId: id, view: initialView(), entries: [late] }),
      { outcome: 'ended', state: 'completed', lastSeq: 1 },
    );
    assert.deepEqual(await findRun(database, id), before);
    assert.equal((await feedOf(database, id)).length, 1);
  });

  it('is not overwritten by a change of an older view', async () => {
    const id = await quietRun(database, installation);
    await recordSteps(id, [step('design', 'running')]);
    const older = await findRun(database, id);
    assert.ok(older);
    await recordSteps(id, [step('design', 'completed')]);
    const change = (key: string) => ({
      executionId: id,
      view: { ...initialView(), state: 'executing' as const, steps: older.steps },
      entries: [{ key, type: 'agent.message' as const, at: new Date().toISOString(), data: {} }],
    });
    assert.equal(await recordChangeOfView(database, change('a'), older.view_seq), false);
    assert.deepEqual(await stored(id), [['design', 'completed', 'design is done']]);
    assert.equal((await feedOf(database, id)).length, 2);
    const current = await findRun(database, id);
    assert.equal(await recordChangeOfView(database, change('a'), current?.view_seq ?? 0), true);
  });

  it('includes how long the run was paused in the Web UI since a given time', async () => {
    const id = await quietRun(database, installation);
    const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 10, 0, second)).toISOString();
    const entry = (key: string, second: number) => ({
      key,
      type: 'state.changed' as const,
      at: at(second),
      data: {},
    });
    const pause = (from: number, to: number) => [
      entry(`engine-pause:${at(from)}`, from),
      entry(`engine-pause-over:${at(from)}`, to),
    ];
    const entries = [...pause(0, 10), ...pause(20, 25), entry(`engine-pause:${at(40)}`, 40)];
    await recordChange(database, { executionId: id, view: null, entries });
    const since = (second: number) => readEnginePausedMs(database, id, new Date(at(second)));
    assert.equal(await since(0), 15_000);
    assert.equal(await since(4), 11_000);
    assert.equal(await since(10), 5_000);
    assert.equal(await since(30), 0);
  });

  it('has events with their age in milliseconds, by the clock of the database', async () => {
    const id = await quietRun(database, installation);
    await recordSteps(id, [step('design', 'running')]);
    await database.em
      .getConnection()
      .execute("update task_events set written_at = now() - interval '1 day' where execution_id = ?", [id]);
    const [[aged] = []] = await listEventsAfterPositions(database, [{ executionId: id, after: 0 }], 10);
    const days = (aged?.ageMs ?? 0) / 86_400_000;
    assert.ok(days >= 1 && days < 2, `${days} days`);
  });
});
