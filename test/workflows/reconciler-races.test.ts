import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { pino } from 'pino';
import { queryBuilderOf, type Database } from '../../src/database/database.ts';
import { recordChange } from '../../src/database/tasks/feed.ts';
import { findRun, insertRun } from '../../src/database/tasks/task-runs.ts';
import type { Step } from '../../src/domain/tasks/run-schemas.ts';
import { initialView, progressOf } from '../../src/domain/tasks/task-run.ts';
import type { RunInspector, EngineState } from '../../src/reconciler/run-inspector.ts';
import {
  recordEnds,
  recordPauses,
  signalPauses,
  startUnstartedRuns,
  sweep,
  type Dependencies,
} from '../../src/reconciler/reconcile.ts';
import type { TaskControl } from '../../src/temporal/task-control.ts';
import { feedOf, quietRun } from '../gateway/quiet-runs.ts';
import { useInstallation } from '../support/installation.ts';
import { newRunRow } from '../support/run-row.ts';

/** A run can write its own change between the reconciler's read and its write. */
describe('a run that changes while the reconciler queries Temporal', () => {
  const fresh = useInstallation();
  let database: Database;
  let id: string;
  before(() => ({ database } = fresh));
  beforeEach(async () => {
    id = await quietRun(database, fresh.installation);
    await write('first', 'running');
  });

  /** Writes a change as the run's workflow does. */
  async function write(key: string, status: 'running' | 'completed'): Promise<void> {
    const step: Step = {
      id: '0199c2a4-5b8c-7d15-8e62-91f0a7c3d4b5',
      name: 'design',
      agent: 'architect',
      status,
      attempt: 1,
      started_at: '2026-01-01T10:00:00.000Z',
      completed_at: null,
      duration_ms: null,
      summary: status === 'completed' ? 'Designed.' : null,
      usage: null,
      error: null,
    };
    const view = {
      ...initialView(),
      state: 'executing' as const,
      started_at: '2026-01-01T10:00:00.000Z',
      steps: [step],
      progress: progressOf([step]),
      output: { written: key },
    };
    const entry = { key, type: 'step.progress' as const, at: new Date().toISOString(), data: {} };
    const { outcome } = await recordChange(database, { executionId: id, view, entries: [entry] });
    assert.equal(outcome, 'recorded');
  }

  /**
   * Returns dependencies whose Temporal reports this state. The run changes during the call of `writes`, or right before
   * the reconciler writes.
   */
  function dependencies(state: EngineState, writes: 'stateOf' | 'view' | 'write'): Dependencies {
    let isAsked = false;
    const changeOnce = async () => {
      if ((await findRun(database, id))?.last_seq === 1) await write('second', 'completed');
    };
    const answering = async <Answer>(what: 'stateOf' | 'view', answer: Answer) => {
      isAsked = true;
      if (what === writes) await changeOnce();
      return answer;
    };
    const beforeStatement = async () => {
      if (isAsked && writes === 'write') await changeOnce();
    };
    const engine: Partial<RunInspector> = {
      pausedRuns: async () => [id],
      runsClosedFromOutside: async () => [id],
      stateOf: () => answering('stateOf', state),
    };
    const control: Partial<TaskControl> = { view: () => answering('view', null) };
    return {
      runsKeptDays: 180,
      database: interrupted(database, beforeStatement),
      engine: engine as RunInspector,
      control: control as TaskControl,
      clock: () => new Date(),
      log: pino({ level: 'silent' }),
    };
  }

  it('gets the signal of its pause again until Temporal accepts it, and then no more', async () => {
    const state = { kind: 'paused' as const, pausedAt: new Date(), by: 'temporal: ada', reason: null };
    const known = dependencies(state, 'stateOf');
    await recordPauses(known);
    const signalled: string[] = [];
    const signalPause = async (executionId: string) => {
      if (executionId !== id) return true;
      signalled.push(executionId);
      if (signalled.length === 1) throw new Error('Temporal is unavailable');
      return true;
    };
    const engine = { ...known.engine, signalPause };
    for (let turn = 0; turn < 3; turn += 1) await signalPauses({ ...known, engine }).catch(() => {});
    assert.equal(signalled.length, 2);
    await recordChange(database, { executionId: id, view: null, entries: [], enginePauseOver: true });
    await write('after the pause', 'running');
    const again = { ...state, pausedAt: new Date(state.pausedAt.getTime() + 1_000) };
    await recordPauses(dependencies(again, 'stateOf'));
    await signalPauses({ ...known, engine });
    assert.equal(signalled.length, 3, 'also of a second pause');
  });

  it('keeps its change when the reconciler pauses it', async () => {
    const state = { kind: 'paused' as const, pausedAt: new Date(), by: 'temporal: ada', reason: null };
    await recordPauses(dependencies(state, 'write'));
    const row = await findRun(database, id);
    assert.deepEqual([row?.state, row?.steps[0]?.summary], ['paused', 'Designed.']);
    assert.deepEqual(row?.output, { written: 'second' });
  });

  it('gets the time of a pause only with its state and its event', async () => {
    const pausedAt = new Date();
    const state = { kind: 'paused' as const, pausedAt, by: 'temporal: ada', reason: null };
    const db = queryBuilderOf(database);
    await sql`
      create function refuse_pauses() returns trigger language plpgsql as
        $$ begin raise exception 'the process ends here'; end $$`.execute(db);
    await sql`
      create trigger refuse_pauses before update on task_runs for each row
        when (new.state = 'paused') execute function refuse_pauses()`.execute(db);
    try {
      await assert.rejects(recordPauses(dependencies(state, 'stateOf')));
    } finally {
      await sql`drop function refuse_pauses cascade`.execute(db);
    }
    const before = await findRun(database, id);
    assert.deepEqual([before?.state, before?.engine_paused_at ?? null], ['executing', null]);
    await recordPauses(dependencies(state, 'stateOf'));
    const after = await findRun(database, id);
    assert.deepEqual(
      [after?.state, after?.engine_paused_at, after?.engine_pause_signalled],
      ['paused', pausedAt, false],
    );
    const last = (await feedOf(database, id)).at(-1);
    assert.deepEqual(last?.data, { from: 'executing', to: 'paused', by: 'temporal: ada' });
  });

  it('that Baton has paused keeps its state and feed when the reconciler records a pause', async () => {
    const at = new Date().toISOString();
    const view = { ...initialView(), state: 'paused' as const, paused_from: 'executing' as const };
    const entry = { key: 'own-pause', type: 'state.changed' as const, at, data: {} };
    const own = { ...view, paused_at: at, paused_by: 'key:test' };
    await recordChange(database, { executionId: id, view: own, entries: [entry] });
    const pausedAt = new Date();
    const state = { kind: 'paused' as const, pausedAt, by: 'temporal: ada', reason: null };
    await recordPauses(dependencies(state, 'view'));
    const row = await findRun(database, id);
    assert.deepEqual(
      [row?.engine_paused_at, row?.engine_pause_signalled, row?.paused_by],
      [pausedAt, false, 'key:test'],
    );
    assert.equal((await feedOf(database, id)).length, 2);
  });

  it('keeps its change when the reconciler ends it', async () => {
    const end = { state: 'failed' as const, code: 'engine_failed' as const, message: 'closed' };
    const state = { kind: 'closed' as const, end, closedAt: new Date(), byItself: true };
    await recordEnds(dependencies(state, 'view'));
    const row = await findRun(database, id);
    assert.deepEqual([row?.state, row?.steps[0]?.status], ['failed', 'completed']);
    assert.deepEqual(row?.output, { written: 'second' });
  });
});

describe('a run that was stored but not started', () => {
  const fresh = useInstallation();
  const old = new Date(Date.now() - 60_000);

  it('is started by each turn and each sweep, a rerun with its plan, unless Temporal knows it', async () => {
    const { database, installation } = fresh;
    const plan = { backend: 'rehearsal', steps: [], run_time_limit_ms: 1 } as const;
    const run = newRunRow(installation, { created_at: old });
    const rerun = newRunRow(installation, {
      created_at: old,
      rerun_of: run.id,
      plan: { ...plan, steps: [] },
    });
    await insertRun(database, run);
    await insertRun(database, rerun);
    let outcome: 'started' | 'known' = 'started';
    const started: [string, boolean | undefined][] = [];
    const asked: string[] = [];
    const control: Partial<TaskControl> = {
      async start({ id, hasPlan }) {
        started.push([id, hasPlan]);
        return outcome;
      },
    };
    const engine: Partial<RunInspector> = {
      openRuns: async () => [],
      async stateOf(id) {
        asked.push(id);
        return { kind: 'running' };
      },
    };
    const dependencies: Dependencies = {
      runsKeptDays: 180,
      database,
      engine: engine as RunInspector,
      control: control as TaskControl,
      clock: () => new Date(),
      log: pino({ level: 'silent' }),
    };
    const both = [
      [run.id, false],
      [rerun.id, true],
    ];
    for (const part of [startUnstartedRuns, sweep]) {
      started.length = 0;
      await part(dependencies);
      assert.deepEqual(started.toSorted(), both.toSorted(), part.name);
    }
    assert.deepEqual(asked, []);
    outcome = 'known';
    await startUnstartedRuns(dependencies);
    assert.deepEqual(
      asked.toSorted(),
      [run.id, rerun.id].toSorted(),
      'it may have ended before its first change',
    );
  });
});

/** Returns a database that calls `before` before each prepared statement. */
function interrupted(database: Database, before: () => Promise<void>): Database {
  const connection = database.em.getConnection();
  const getNativeClient = async () => {
    await before();
    return await connection.getNativeClient();
  };
  const em = Object.assign(Object.create(database.em) as Database['em'], {
    getConnection: () => ({ getNativeClient }),
    fork: () => database.em.fork(),
  });
  return Object.assign(Object.create(database) as Database, { em });
}
