import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import type { Plan } from '../../src/domain/tasks/plan.ts';
import { RunState } from '../../src/domain/tasks/run-state.ts';
import {
  isTerminal,
  nextState,
  TASK_STATES,
  TERMINAL_STATES,
  TRANSITION_TRIGGERS,
  type ActiveState,
  type TaskState,
} from '../../src/domain/tasks/task-states.ts';
import { holds } from './property.ts';

const BEGUN = Date.parse('2026-01-01T00:00:00.000Z');

/** All transitions (docs/how-it-works.md). A run can fail or be cancelled from every state that is not terminal. */
const TRANSITIONS = new Set(
  [
    ['initializing', 'planning'],
    ['planning', 'executing'],
    ['executing', 'completed'],
    ['executing', 'escalated'],
    ...['initializing', 'planning', 'executing', 'paused'].flatMap((state) => [
      [state, 'failed'],
      [state, 'cancelled'],
    ]),
    ...['initializing', 'planning', 'executing'].flatMap((state) => [
      [state, 'paused'],
      ['paused', state],
    ]),
  ].map((pair) => pair.join(' → ')),
);

/** What can happen to a run, in any order; `ms` is the time in milliseconds since the previous action. */
const action = fc.record({
  what: fc.constantFrom(
    'begin',
    'choose',
    'pause',
    'continue',
    'ask',
    'unpaused',
    'step',
    ...TERMINAL_STATES,
  ),
  ms: fc.nat(5_000),
});
const actions = fc.array(action, { maxLength: 40 });
type Action = { what: string; ms: number };

describe('the states of a run, for random sequences of actions', () => {
  it('follow only the documented transitions in nextState', () => {
    const triggers = fc.array(fc.constantFrom(...TRANSITION_TRIGGERS), { maxLength: 60 });
    holds([triggers], (given) => {
      let state: TaskState = 'initializing';
      let pausedFrom: ActiveState | null = null;
      for (const trigger of given) {
        const next: TaskState | null = nextState(state, trigger, pausedFrom);
        if (next === null) continue;
        assert.ok(TRANSITIONS.has(`${state} → ${next}`), `${state} → ${next} by ${trigger}`);
        assert.ok(!isTerminal(state));
        if (state === 'paused' && trigger === 'continued') assert.equal(next, pausedFrom);
        pausedFrom = next === 'paused' ? (state as ActiveState) : null;
        state = next;
      }
    });
  });

  it('are reported in a continuous sequence that ends once', () => {
    holds([actions], (given) => {
      const { reported, ends, view } = play(given);
      let state = 'initializing';
      for (const { from, to } of reported) {
        assert.equal(from, state);
        assert.ok(TRANSITIONS.has(`${from} → ${to}`), `${from} → ${to}`);
        state = to;
      }
      assert.equal(view?.state ?? 'initializing', state);
      assert.ok((TASK_STATES as readonly string[]).includes(state));
      assert.equal(ends, isTerminal(state as TaskState) ? 1 : 0);
    });
  });

  it('result in the correct duration and paused time', () => {
    holds([actions], (given) => {
      const { view, pausedMs } = play(given.filter(({ what }) => what !== 'unpaused'));
      if (!view?.completed_at || view.started_at === null) return;
      assert.equal(view.duration_ms, Date.parse(view.completed_at) - Date.parse(view.started_at));
      assert.equal(view.paused_ms, pausedMs);
      assert.equal(view.paused_at, null);
    });
  });

  it('are the same after pause and continue, except for the paused time', () => {
    holds([actions, fc.nat(10_000)], (given, ms) => {
      const plain = playRun(given);
      const paused = playRun(given);
      if (plain.run.hasEnded || plain.run.isPaused) return;
      paused.run.pause({ by: 'user:a' }, paused.now);
      assert.ok(paused.run.isPaused);
      assert.equal(paused.run.continue({ by: 'user:a' }, paused.now + ms), null);
      for (const { run, now } of [plain, paused]) run.end('cancelled', null, now + ms);
      const [one, other] = [plain.run.takeChange()?.view, paused.run.takeChange()?.view];
      assert.ok(one && other);
      assert.equal(other.paused_ms, one.paused_ms + ms);
      assert.deepEqual({ ...other, paused_ms: 0 }, { ...one, paused_ms: 0 });
    });
  });
});

/** Applies the actions to a run; `reported` are its changes of state. */
function play(given: readonly Action[]) {
  const { run } = playRun(given);
  const change = run.takeChange();
  const entries = change?.entries ?? [];
  const changes = entries.filter(({ type }) => type === 'state.changed');
  const reported = changes.map(({ data }) => ({ from: String(data['from']), to: String(data['to']) }));
  let pausedMs = 0;
  for (const [index, { data, at }] of changes.entries()) {
    const before = changes[index - 1];
    if (data['from'] === 'paused' && before) pausedMs += Date.parse(at) - Date.parse(before.at);
  }
  const own = reported.filter((_, index) => !changes[index]?.key.startsWith('engine-'));
  const ends = entries.filter(({ type }) => type === 'run.ended').length;
  return { reported: own, ends, view: change?.view, pausedMs };
}

function playRun(given: readonly Action[]): { run: RunState; now: number } {
  const run = new RunState(BEGUN);
  let now = BEGUN;
  let chosen = false;
  for (const { what, ms } of given) {
    now += ms;
    if (what === 'begin') run.begin(now);
    else if (what === 'choose') {
      run.agentsChosen(plan(), now);
      chosen = true;
    } else if (what === 'pause') run.pause({ by: 'user:a' }, now);
    else if (what === 'continue') run.continue({ by: 'user:a' }, now);
    else if (what === 'unpaused') run.enginePauseEnded(new Date(now - 1).toISOString(), 'engine', now);
    else if (what === 'ask' || what === 'step') {
      if (chosen && what === 'ask') run.ask('one', 'May I?', now);
      if (chosen && what === 'step') run.stepStarted('one', 1, now);
    } else run.end(what as (typeof TERMINAL_STATES)[number], null, now);
  }
  return { run, now };
}

function plan(): Plan {
  const retry = {
    maximum_attempts: 2,
    initial_interval_ms: 10,
    backoff_coefficient: 2,
    maximum_interval_ms: 50,
  };
  const step = { id: 'one', name: 'one', agent: 'a', after: [], time_limit_ms: 1, retry };
  return { backend: 'rehearsal', steps: [step], run_time_limit_ms: 1_000 };
}
