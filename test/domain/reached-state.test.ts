import assert from 'node:assert/strict';
import { keepReached, positionOf, type Reached } from '../../src/domain/tasks/reached-state.ts';
import type { RunChange } from '../../src/domain/tasks/run-change.ts';
import { RunState } from '../../src/domain/tasks/run-state.ts';
import { initialView } from '../../src/domain/tasks/task-run.ts';
import { TASK_STATES } from '../../src/domain/tasks/task-states.ts';

const STARTED = '2026-01-31T12:00:00.000Z';
const STEP = {
  id: 's1',
  name: 'design',
  agent: 'developer',
  status: 'running' as const,
  attempt: 1,
  started_at: STARTED,
  completed_at: null,
  duration_ms: null,
  summary: null,
  usage: null,
  error: null,
};
const EXECUTING: Reached = { state: 'executing', paused_from: null, steps: [STEP], started_at: STARTED };
const PLAN = { backend: 'rehearsal' as const, steps: [], run_time_limit_ms: 60_000 };
const BY = { by: 'key:test' };

/** The next change of a run, as its workflow records it. */
function changeOf(state: RunState): RunChange {
  const change = state.takeChange();
  assert.ok(change);
  return { executionId: 'e1', ...change };
}
const transitionsOf = ({ entries }: RunChange) => entries.map(({ data }) => [data['from'], data['to']]);

describe('the state that a run has reached', () => {
  it('is the one that it is paused from, and later than all others once it has ended', () => {
    const positions = TASK_STATES.map((state) =>
      positionOf({ state, paused_from: state === 'paused' ? 'planning' : null }),
    );
    assert.deepEqual(positions, [0, 1, 2, 1, Infinity, Infinity, Infinity, Infinity]);
  });

  it('stays in the changes of a workflow that repeats a lost task after other signals', () => {
    const state = new RunState(0);
    state.pause(BY, 1_000);
    const paused = keepReached(changeOf(state), EXECUTING);
    assert.deepEqual(transitionsOf(paused), [['executing', 'paused']]);
    assert.deepEqual(
      [paused.view?.state, paused.view?.paused_from, paused.view?.paused_by],
      ['paused', 'executing', 'key:test'],
    );
    assert.deepEqual(paused.view?.steps, [STEP]);
    assert.equal(paused.view?.started_at, STARTED);

    state.continue(BY, 2_000);
    const continued = keepReached(changeOf(state), {
      ...EXECUTING,
      state: 'paused',
      paused_from: 'executing',
    });
    assert.deepEqual(transitionsOf(continued), [['paused', 'executing']]);
    assert.deepEqual([continued.view?.state, continued.view?.paused_from], ['executing', null]);

    state.begin(3_000);
    const begun = keepReached(changeOf(state), EXECUTING);
    assert.deepEqual(begun.entries, [], 'it has begun before');
    assert.equal(begun.view?.state, 'executing');

    state.agentsChosen(PLAN, 4_000);
    const planned = changeOf(state);
    assert.equal(keepReached(planned, EXECUTING), planned, 'it has come as far again');
  });

  it('is raised only as far as the run has come', () => {
    const state = new RunState(0);
    state.pause(BY, 1_000);
    state.continue(BY, 2_000);
    state.begin(3_000);
    state.agentsChosen(PLAN, 4_000);
    state.pause(BY, 5_000);
    const change = { ...changeOf(state), view: { ...initialView(), state: 'initializing' as const } };
    const kept = keepReached(change, { ...EXECUTING, state: 'planning' });
    assert.deepEqual(transitionsOf(kept), [
      ['planning', 'paused'],
      ['paused', 'planning'],
      ['planning', 'executing'],
      ['executing', 'paused'],
    ]);
    assert.equal(kept.view?.state, 'planning');
  });

  it('does not change an end, a change without a view, or other events', () => {
    const state = new RunState(0);
    state.end('cancelled', BY, 1_000);
    const ended = changeOf(state);
    assert.equal(keepReached(ended, EXECUTING), ended);
    const message = { key: 'm', type: 'agent.message' as const, at: STARTED, data: { from: 'initializing' } };
    const ofEnded: RunChange = { executionId: 'e1', view: initialView(), entries: [message] };
    assert.equal(keepReached(ofEnded, { ...EXECUTING, state: 'completed' }), ofEnded);
    const unseen: RunChange = { executionId: 'e1', view: null, entries: [message] };
    assert.equal(keepReached(unseen, EXECUTING), unseen);
    const kept = keepReached({ ...unseen, view: initialView() }, EXECUTING);
    assert.deepEqual(kept.entries, [message]);
  });

  it('keeps the steps and the start that the workflow knows', () => {
    const own = [{ ...STEP, id: 'own' }];
    const view = { ...initialView(), state: 'planning' as const, steps: own, started_at: 'its own' };
    const kept = keepReached({ executionId: 'e1', view, entries: [] }, EXECUTING);
    assert.deepEqual([kept.view?.steps, kept.view?.started_at], [own, 'its own']);
  });
});
