import assert from 'node:assert/strict';
import { applyEngineEnd, applyEnginePause, applyWorkflowEnd } from '../../src/domain/tasks/engine-changes.ts';
import type { RunView, Step } from '../../src/domain/tasks/run-schemas.ts';
import { initialView } from '../../src/domain/tasks/task-run.ts';
import { ACTIVE_STATES, TASK_STATES } from '../../src/domain/tasks/task-states.ts';

const START = Date.parse('2026-01-31T12:00:00.000Z');
const date = (ms: number) => new Date(START + ms);
const iso = (ms: number) => date(ms).toISOString();

const STEP: Step = {
  id: 's1',
  name: 'one',
  agent: 'a',
  status: 'completed',
  attempt: 1,
  started_at: iso(0),
  completed_at: iso(10),
  duration_ms: 10,
  summary: 'done',
  usage: null,
  error: null,
};
const RUNNING: RunView = {
  ...initialView(),
  state: 'executing',
  started_at: iso(0),
  paused_ms: 5,
  last_seq: 7,
  steps: [
    STEP,
    { ...STEP, id: 's2', status: 'running', started_at: iso(20), completed_at: null, duration_ms: null },
    { ...STEP, id: 's3', status: 'running', started_at: null, completed_at: null, duration_ms: null },
    { ...STEP, id: 's4', status: 'pending', started_at: null, completed_at: null, duration_ms: null },
    { ...STEP, id: 's5', status: 'failed' },
  ],
};

describe('a pause made in Temporal', () => {
  it('pauses an active run from its start, with an event', () => {
    for (const state of ACTIVE_STATES) {
      const { last_seq: _, ...view } = { ...RUNNING, state };
      assert.deepEqual(applyEnginePause({ ...RUNNING, state }, 'temporal: op', date(30), 'look'), {
        view: { ...view, state: 'paused', paused_from: state, paused_at: iso(30), paused_by: 'temporal: op' },
        entries: [
          {
            key: `engine-pause:${iso(30)}`,
            type: 'state.changed',
            at: iso(30),
            data: { from: state, to: 'paused', by: 'temporal: op', reason: 'look' },
          },
        ],
        enginePausedAt: iso(30),
      });
    }
  });

  it('has no reason if none was given', () => {
    for (const reason of [null, '']) {
      const data = applyEnginePause(RUNNING, 'op', date(30), reason)?.entries[0]?.data;
      assert.deepEqual(data, { from: 'executing', to: 'paused', by: 'op' });
    }
  });

  it('changes nothing in a run that is paused or has ended', () => {
    const others = TASK_STATES.filter((state) => !(ACTIVE_STATES as readonly string[]).includes(state));
    for (const state of others)
      assert.equal(applyEnginePause({ ...RUNNING, state }, 'op', date(30), null), null);
  });
});

describe('an end made in Temporal', () => {
  const cancel = (view: RunView, ms = 100) =>
    applyEngineEnd(view, date(-50), { state: 'cancelled' }, date(ms));

  it('cancels running steps and skips pending ones', () => {
    assert.deepEqual(
      cancel(RUNNING).view.steps.map(({ status, completed_at, duration_ms }) => [
        status,
        completed_at,
        duration_ms,
      ]),
      [
        ['completed', iso(10), 10],
        ['cancelled', iso(100), 80],
        ['cancelled', iso(100), 0],
        ['skipped', null, null],
        ['failed', iso(10), 10],
      ],
    );
  });

  it('ends the run with its duration and progress, and without a question', () => {
    const question = { id: '1', step: 'one', agent: 'a', text: '?', at: iso(5) };
    const { view } = cancel({ ...RUNNING, question });
    const { state, started_at, completed_at, duration_ms, paused_ms, progress } = view;
    assert.deepEqual(
      [state, started_at, completed_at, duration_ms, paused_ms, view.question],
      ['cancelled', iso(0), iso(100), 100, 5, null],
    );
    assert.deepEqual(progress, { percent: 20, steps_completed: 1, steps_total: 5, current_step: null });
    assert.ok(!('last_seq' in view));
  });

  it('ends a pause', () => {
    const paused = {
      ...RUNNING,
      state: 'paused' as const,
      paused_from: 'executing' as const,
      paused_at: iso(60),
      paused_by: 'x',
    };
    const { paused_from, paused_at, paused_by, paused_ms } = cancel(paused).view;
    assert.deepEqual([paused_from, paused_at, paused_by, paused_ms], [null, null, null, 45]);
    assert.equal(cancel({ ...paused, paused_at: iso(200) }, 100).view.paused_ms, 5, 'it began later');
  });

  it('is not before the start of the run', () => {
    const { view, entries } = cancel(RUNNING, -20);
    assert.deepEqual([view.completed_at, view.duration_ms], [iso(0), 0]);
    assert.equal(view.steps[1]?.duration_ms, 0);
    assert.equal(entries[0]?.at, iso(0));
  });

  it('uses the creation of the run if it has not started', () => {
    const { view } = cancel({ ...RUNNING, started_at: null });
    assert.deepEqual([view.started_at, view.duration_ms], [iso(-50), 150]);
  });

  it('is two events: the change of the state, and the end', () => {
    const { entries, view } = cancel(RUNNING);
    assert.deepEqual(entries, [
      {
        key: 'engine-end',
        type: 'state.changed',
        at: iso(100),
        data: { from: 'executing', to: 'cancelled', by: 'temporal' },
      },
      {
        key: 'run.ended',
        type: 'run.ended',
        at: iso(100),
        data: { state: 'cancelled', duration_ms: 100, errors: [], escalation: null },
      },
    ]);
    assert.deepEqual(view.errors, []);
  });

  it('adds an error if the run failed', () => {
    const earlier = { code: 'step_failed' as const, message: 'm', step: 'one', agent: 'a', at: iso(10) };
    const end = { state: 'failed', code: 'engine_failed', message: 'broken' } as const;
    const { view, entries } = applyEngineEnd({ ...RUNNING, errors: [earlier] }, date(0), end, date(100));
    const errors = [
      earlier,
      { code: 'engine_failed', message: 'broken', step: null, agent: null, at: iso(100) },
    ];
    assert.deepEqual(view.errors, errors);
    assert.deepEqual(entries[1]?.data['errors'], errors);
    assert.equal(view.state, 'failed');
  });
});

describe('an end that the workflow reports', () => {
  it('is taken over, with the two events of an end', () => {
    const reported: RunView = { ...RUNNING, state: 'completed', completed_at: iso(90), duration_ms: 90 };
    const { last_seq: _, ...view } = reported;
    assert.deepEqual(applyWorkflowEnd(RUNNING, reported), {
      view,
      entries: [
        {
          key: 'engine-end',
          type: 'state.changed',
          at: iso(90),
          data: { from: 'executing', to: 'completed', by: 'temporal' },
        },
        {
          key: 'run.ended',
          type: 'run.ended',
          at: iso(90),
          data: { state: 'completed', duration_ms: 90, errors: [], escalation: null },
        },
      ],
    });
  });

  it('has a time even if the workflow does not report it', () => {
    assert.equal(applyWorkflowEnd(RUNNING, RUNNING).entries[0]?.at, '1970-01-01T00:00:00.000Z');
  });
});
