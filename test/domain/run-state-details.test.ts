import assert from 'node:assert/strict';
import type { StoredPlan } from '../../src/domain/tasks/rerun.ts';
import type { RunView } from '../../src/domain/tasks/run-schemas.ts';
import { FIRST_QUESTION, openQuestionOf, RunState } from '../../src/domain/tasks/run-state.ts';
import { initialView } from '../../src/domain/tasks/task-run.ts';
import { CREATED, executing, planOf } from './executing-run.ts';

const at = (ms: number) => CREATED + ms;
const iso = (ms: number) => new Date(at(ms)).toISOString();
const stepOf = (name: string, attempt = 1) => ({ id: `id-${name}`, name, agent: `agent-${name}`, attempt });
const ANSWERED = { step: 'two', question: 'Which one?', text: 'The first.', by: 'user:a' };
const PENDING = {
  status: 'pending' as const,
  attempt: 0,
  started_at: null,
  completed_at: null,
  duration_ms: null,
  summary: null,
  usage: null,
  error: null,
};

describe('the questions of a run', () => {
  it('have the numbers in which they were asked, and the first one that is not answered is open', () => {
    const state = executing('one', 'two');
    assert.deepEqual([state.openQuestion, state.isUnasked('1')], [null, true]);
    state.ask('id-one', 'first?', at(300));
    state.ask('id-two', 'second?', at(310));
    assert.equal(state.openQuestion, '1');
    assert.deepEqual(
      ['1', '2', '3'].map((id) => state.isUnasked(id)),
      [false, false, true],
    );
    assert.equal(state.isUnasked('x'), false);
    state.continue({ by: 'user:a', question: '1' }, at(320));
    assert.deepEqual([state.openQuestion, state.isUnasked('2')], ['2', false]);
  });

  it('are withdrawn when nothing waits for the answers, which continues the run', () => {
    const state = executing('one', 'two');
    state.ask('id-one', 'first?', at(300));
    state.ask('id-two', 'second?', at(310));
    state.takeChange();
    state.withdrawQuestions(at(400));
    const change = state.takeChange();
    const data = { from: 'paused', to: 'executing', by: 'agent:agent-one' };
    assert.deepEqual(change?.entries, [
      {
        key: 'state:4:paused>executing',
        type: 'state.changed',
        at: iso(400),
        data: { ...data, reason: 'The question is withdrawn: another step has ended the run.' },
      },
    ]);
    const { state: shown, question, paused_at, paused_by, paused_ms } = change.view;
    assert.deepEqual(
      [shown, question, paused_at, paused_by, paused_ms],
      ['executing', null, null, null, 100],
    );
    assert.equal(state.ask('id-two', 'third?', at(410)), null);
    assert.equal(state.hasUnrecorded, false);
  });

  it('are withdrawn without a change while a person has paused the run', () => {
    const state = executing('one', 'two');
    state.pause({ by: 'user:a' }, at(290));
    state.ask('id-one', 'first?', at(300));
    state.takeChange();
    state.withdrawQuestions(at(400));
    assert.deepEqual([state.isPaused, state.hasUnrecorded], [true, false]);
    assert.equal(state.continue({ by: 'user:a', question: null }, at(410)), null);
    assert.deepEqual([state.isPaused, state.openQuestion], [false, null]);
  });
});

describe('the events of a run', () => {
  it('say what begins: the run, then its plan with all steps', () => {
    const state = new RunState(CREATED);
    assert.equal(state.hasUnrecorded, false);
    state.begin(at(100));
    assert.equal(state.hasUnrecorded, true);
    const plan = planOf('one', 'two');
    state.agentsChosen(plan, at(200));
    const change = state.takeChange();
    assert.deepEqual(change?.entries, [
      {
        key: 'state:1:initializing>planning',
        type: 'state.changed',
        at: iso(100),
        data: { from: 'initializing', to: 'planning' },
      },
      {
        key: 'state:2:planning>executing',
        type: 'state.changed',
        at: iso(200),
        data: {
          from: 'planning',
          to: 'executing',
          backend: 'rehearsal',
          steps: [
            { id: 'id-one', name: 'one', agent: 'agent-one', after: [] },
            { id: 'id-two', name: 'two', agent: 'agent-two', after: [] },
          ],
        },
      },
    ]);
    assert.deepEqual(change.plan, plan);
    assert.equal(change.view.paused_from, null);
    assert.deepEqual(change.view.steps, [
      { id: 'id-one', name: 'one', agent: 'agent-one', ...PENDING },
      { id: 'id-two', name: 'two', agent: 'agent-two', ...PENDING },
    ]);
    assert.equal(state.hasUnrecorded, false);
    state.pause({ by: 'x' }, at(300));
    assert.ok(!('plan' in (state.takeChange() ?? {})), 'the plan is recorded once');
  });

  it('say what happens to a step', () => {
    const state = executing('one');
    const usage = { input_tokens: 3, output_tokens: 4 };
    state.stepStarted('id-one', 1, at(300));
    state.stepFailed('id-one', 'step_failed', 'no', 50, at(310));
    state.stepStarted('id-one', 2, at(360));
    state.stepUsed('id-one', usage);
    state.stepCompleted('id-one', { summary: 's', usage, message: 'hello', text: 'result' }, at(400));
    const error = { code: 'step_failed', message: 'no', step: 'one', agent: 'agent-one', at: iso(310) };
    const change = state.takeChange();
    const sum = { input_tokens: 6, output_tokens: 8 };
    assert.deepEqual(change?.entries, [
      { key: 'step.started:id-one:1', type: 'step.started', at: iso(300), data: { step: stepOf('one') } },
      {
        key: 'step.failed:id-one:1',
        type: 'step.failed',
        at: iso(310),
        data: { step: stepOf('one'), error, retry_in_ms: 50 },
      },
      { key: 'step.started:id-one:2', type: 'step.started', at: iso(360), data: { step: stepOf('one', 2) } },
      {
        key: 'agent.message:id-one:2',
        type: 'agent.message',
        at: iso(400),
        data: { step: stepOf('one', 2), text: 'hello' },
      },
      {
        key: 'step.completed:id-one:2',
        type: 'step.completed',
        at: iso(400),
        data: { step: stepOf('one', 2), summary: 's', usage: sum, duration_ms: 100 },
      },
    ]);
    assert.deepEqual(change.view.steps, [
      {
        ...stepOf('one', 2),
        status: 'completed',
        started_at: iso(300),
        completed_at: iso(400),
        duration_ms: 100,
        summary: 's',
        usage: sum,
        error: null,
      },
    ]);
  });

  it('say nothing for an agent that sends no message', () => {
    const state = executing('one');
    state.stepStarted('id-one', 1, at(300));
    state.stepCompleted('id-one', { summary: 's', usage: null, message: null }, at(310));
    assert.deepEqual(
      state.takeChange()?.entries.map(({ type }) => type),
      ['step.started', 'step.completed'],
    );
  });

  it('say that a step failed permanently, and show its error until its next attempt', () => {
    const state = executing('one');
    state.stepStarted('id-one', 1, at(300));
    state.stepFailed('id-one', 'step_timed_out', 'late', 10, at(310));
    const waiting = state.takeChange()?.view.steps[0];
    assert.deepEqual(
      [waiting?.status, waiting?.error?.code, waiting?.completed_at],
      ['running', 'step_timed_out', null],
    );
    state.stepFailed('id-one', 'step_failed', 'no', null, at(330));
    const failed = state.takeChange();
    assert.deepEqual([failed?.view.steps[0]?.status, failed?.view.steps[0]?.duration_ms], ['failed', 30]);
    assert.equal(failed?.entries[0]?.data['retry_in_ms'], null);
  });

  it('say that an agent escalated', () => {
    const state = executing('one');
    state.stepStarted('id-one', 1, at(300));
    state.takeChange();
    state.stepEscalated('id-one', 'decide', at(310));
    const change = state.takeChange();
    assert.deepEqual(change?.view.escalation, {
      reason: 'decide',
      step: 'one',
      agent: 'agent-one',
      at: iso(310),
    });
    assert.equal(change?.view.steps[0]?.status, 'failed');
    assert.deepEqual(change?.entries, [
      {
        key: 'escalation.requested:id-one:1',
        type: 'escalation.requested',
        at: iso(310),
        data: { step: stepOf('one'), reason: 'decide' },
      },
    ]);
    state.end('escalated', null, at(320));
    assert.deepEqual(state.takeChange()?.entries.at(-1)?.data['escalation'], change?.view.escalation);
  });

  it('say who paused, continued and cancelled the run, and why', () => {
    const state = executing('one');
    state.pause({ by: 'key:x', reason: 'lunch' }, at(300));
    const paused = state.takeChange();
    assert.deepEqual(paused?.entries[0]?.data, {
      from: 'executing',
      to: 'paused',
      by: 'key:x',
      reason: 'lunch',
    });
    const { paused_at, paused_by, paused_from } = paused.view;
    assert.deepEqual([paused_at, paused_by, paused_from], [iso(300), 'key:x', 'executing']);
    state.continue({ by: 'user:ada', reason: 'back' }, at(400));
    const continued = state.takeChange();
    assert.deepEqual(continued?.entries[0]?.data, {
      from: 'paused',
      to: 'executing',
      by: 'user:ada',
      reason: 'back',
    });
    const view = continued.view;
    assert.deepEqual([view.paused_at, view.paused_by, view.paused_from], [null, null, null]);
    state.end('cancelled', { by: 'user:y', reason: 'enough' }, at(500));
    assert.deepEqual(state.takeChange()?.entries[0]?.data, {
      from: 'executing',
      to: 'cancelled',
      by: 'user:y',
      reason: 'enough',
    });
  });

  it('say what a run asks while it is paused for the answer', () => {
    const state = executing('one');
    state.stepStarted('id-one', 1, at(300));
    state.takeChange();
    state.ask('id-one', 'may I?', at(310));
    const question = { id: '1', step: 'one', agent: 'agent-one', text: 'may I?', at: iso(310) };
    const change = state.takeChange();
    assert.deepEqual(change?.entries[0]?.data, {
      from: 'executing',
      to: 'paused',
      by: 'agent:agent-one',
      question,
    });
    const { paused_at, paused_by } = change.view;
    assert.deepEqual([change.view.question, paused_at, paused_by], [question, iso(310), 'agent:agent-one']);
  });
});

describe('the end of a run', () => {
  it('has the work that was done in its output', () => {
    const state = executing('one', 'two', 'three');
    state.stepStarted('id-one', 1, at(300));
    state.stepCompleted('id-one', { summary: 'first', usage: null, message: null, text: 'text' }, at(310));
    state.stepStarted('id-two', 1, at(310));
    state.stepCompleted('id-two', { summary: 'second', usage: null, message: null, text: '' }, at(320));
    state.artifactsSaved('id-one', [
      { name: 'a.md', media_type: 'text/markdown', size: 3 },
      { name: 'b.md', media_type: 'text/markdown', size: 4 },
    ]);
    state.artifactsSaved('id-two', [{ name: 'a.md', media_type: 'text/plain', size: 5 }]);
    state.addError('run_timed_out', 'too long', at(330));
    state.end('failed', null, at(340));
    const change = state.takeChange();
    assert.deepEqual(change?.view.output, {
      backend: 'rehearsal',
      summary: '2 of 3 steps completed',
      steps: [
        { name: 'one', agent: 'agent-one', backend: 'rehearsal', summary: 'first', result: 'text' },
        { name: 'two', agent: 'agent-two', backend: 'rehearsal', summary: 'second' },
      ],
      artifacts: [
        { name: 'a.md', media_type: 'text/plain', size: 5, step: 'two', agent: 'agent-two' },
        { name: 'b.md', media_type: 'text/markdown', size: 4, step: 'one', agent: 'agent-one' },
      ],
    });
    const errors = [{ code: 'run_timed_out', message: 'too long', step: null, agent: null, at: iso(330) }];
    assert.deepEqual(change.entries.slice(-2), [
      {
        key: 'state:3:executing>failed',
        type: 'state.changed',
        at: iso(340),
        data: { from: 'executing', to: 'failed' },
      },
      {
        key: 'run.ended',
        type: 'run.ended',
        at: iso(340),
        data: { state: 'failed', duration_ms: 240, errors, escalation: null },
      },
    ]);
    assert.deepEqual(change.view.errors, errors);
    assert.deepEqual([change.view.completed_at, change.view.paused_ms], [iso(340), 0]);
  });

  it('has no output without a plan', () => {
    const state = new RunState(CREATED);
    state.begin(at(100));
    state.end('failed', null, at(200));
    const view = state.takeChange()?.view;
    assert.deepEqual([view?.output, view?.state], [null, 'failed']);
  });

  it('is never before the start, and no duration is negative', () => {
    const state = new RunState(CREATED);
    state.begin(at(-50));
    state.agentsChosen(planOf('one'), at(-40));
    state.stepStarted('id-one', 1, at(-30));
    state.pause({ by: 'x' }, at(-20));
    state.end('cancelled', { by: 'x' }, at(-60));
    const view = state.takeChange()?.view;
    assert.deepEqual(
      [view?.started_at, view?.completed_at, view?.duration_ms, view?.paused_ms, view?.steps[0]?.duration_ms],
      [iso(0), iso(0), 0, 0, 0],
    );
  });

  it('closes a step that never started with no duration', () => {
    const state = executing('one');
    state.stepFailed('id-one', 'step_failed', 'no', null, at(300));
    assert.equal(state.takeChange()?.view.steps[0]?.duration_ms, 0);
  });

  it('allows no further change', () => {
    const state = executing('one');
    assert.equal(state.hasEnded, false);
    state.end('completed', null, at(300));
    assert.equal(state.hasEnded, true);
    state.takeChange();
    state.enginePauseEnded(iso(250), 'op', at(310));
    state.begin(at(320));
    state.end('failed', null, at(330));
    assert.equal(state.continue({ by: 'x' }, at(340)), null);
    assert.equal(state.ask('id-one', '?', at(350)), null);
    assert.equal(state.takeChange(), null);
  });
});

describe('the active time of a run', () => {
  it('is zero before it starts', () => {
    assert.equal(new RunState(CREATED).activeMs(at(500)), 0);
  });

  it('is the time since its start without pauses', () => {
    const state = executing('one');
    assert.equal(state.activeMs(at(600)), 500);
    state.pause({ by: 'x' }, at(600));
    assert.equal(state.activeMs(at(900)), 500);
    state.continue({ by: 'x' }, at(1_000));
    assert.equal(state.activeMs(at(1_100)), 600);
  });

  it('contains nothing of pauses before its start, also after it continues from its memory', () => {
    const state = new RunState(CREATED);
    state.pause({ by: 'x' }, at(100));
    state.continue({ by: 'x' }, at(400));
    assert.equal(state.pausedMs, 300);
    state.begin(at(500), state.pausedMs);
    state.pause({ by: 'x' }, at(600));
    state.continue({ by: 'x' }, at(650));
    assert.equal(state.activeMs(at(700)), 150);
    const change = state.takeChange();
    assert.ok(change);
    const view = { ...change.view, last_seq: 1 };
    const later = new RunState(CREATED, { view, plan: null, memory: state.memory() });
    assert.equal(later.activeMs(at(700)), 150);
  });
});

describe('a run that starts', () => {
  it('starts once, at its creation at the earliest', () => {
    const state = new RunState(CREATED);
    state.begin(at(-10));
    state.begin(at(50));
    const change = state.takeChange();
    assert.deepEqual([change?.view.started_at, change?.entries.length], [iso(0), 1]);
  });

  it('refuses work on a step that its plan does not have', () => {
    assert.throws(() => executing('one').stepStarted('id-two', 1, at(300)), RangeError);
  });

  it('with kept steps has them as they ended, with their outputs', () => {
    const plan = planOf('one', 'two');
    const kept = {
      id: 'id-one',
      name: 'one',
      agent: 'agent-one',
      ...PENDING,
      status: 'completed' as const,
      summary: 's',
      kept: true as const,
    };
    const artifact = { name: 'a.md', media_type: 'text/plain', size: 5, step: 'one', agent: 'agent-one' };
    const stored: StoredPlan = {
      ...plan,
      steps: plan.steps.map((step) => (step.name === 'two' ? { ...step, backend: 'model' as const } : step)),
      kept: [kept],
      answered: ANSWERED,
      left: { results: [{ id: 'id-one', text: 'kept text' }], artifacts: [artifact] },
    };
    const state = new RunState(CREATED);
    state.begin(at(100));
    state.agentsChosen(stored, at(200));
    state.stepStarted('id-two', 1, at(300));
    state.stepCompleted('id-two', { summary: 't', usage: null, message: null }, at(310));
    state.end('completed', null, at(320));
    const change = state.takeChange();
    assert.deepEqual(change?.view.steps[0], kept);
    assert.deepEqual(change.entries[1]?.data['answer'], ANSWERED);
    assert.deepEqual(change.entries[1]?.data['steps'], [
      { id: 'id-one', name: 'one', agent: 'agent-one', after: [], kept: true },
      { id: 'id-two', name: 'two', agent: 'agent-two', after: [] },
    ]);
    assert.deepEqual(change.view.output?.['steps'], [
      { name: 'one', agent: 'agent-one', backend: 'rehearsal', summary: 's', result: 'kept text' },
      { name: 'two', agent: 'agent-two', backend: 'model', summary: 't' },
    ]);
    assert.deepEqual(change.view.output['artifacts'], [artifact]);
  });
});

describe('a run that continues from its record', () => {
  it('does the same as without the interruption', () => {
    const play = (isInterrupted: boolean) => {
      let state = executing('one', 'two');
      state.stepStarted('id-one', 1, at(300));
      state.stepCompleted('id-one', { summary: 's', usage: null, message: null, text: 'text' }, at(310));
      state.artifactsSaved('id-one', [{ name: 'a.md', media_type: 'text/plain', size: 5 }]);
      state.stepStarted('id-two', 1, at(320));
      state.enginePauseEnded(iso(321), 'op', at(322));
      state.ask('id-two', 'first?', at(330));
      state.ask('id-one', 'second?', at(331));
      const change = state.takeChange();
      assert.ok(change);
      if (isInterrupted) {
        const view: RunView = { ...change.view, last_seq: 9 };
        const memory = structuredClone(state.memory());
        state = new RunState(CREATED, { view, plan: planOf('one', 'two'), memory });
        assert.equal(state.hasUnrecorded, false);
        assert.deepEqual(state.memory(), memory);
        view.steps.length = 0;
      }
      state.enginePauseEnded(iso(321), 'op', at(332));
      const answers = [340, 350].map((ms) => state.continue({ by: 'user:ada', reason: `at ${ms}` }, at(ms)));
      assert.equal(state.ask('id-one', 'third?', at(355)), 3);
      state.continue({ by: 'user:ada' }, at(356));
      state.end('completed', null, at(360));
      return { answers, change: state.takeChange(), memory: state.memory() };
    };
    const through = play(false);
    assert.deepEqual(
      through.answers.map((answer) => answer?.number),
      [1, 2],
    );
    assert.deepEqual(play(true), through);
  });

  it('before its plan has no output', () => {
    const state = new RunState(CREATED, {
      view: initialView(),
      plan: null,
      memory: new RunState(CREATED).memory(),
    });
    state.end('cancelled', null, at(100));
    assert.equal(state.takeChange()?.view.output, null);
  });

  it('remembers the last 100 pauses made in Temporal', () => {
    const state = executing('one');
    for (let n = 0; n < 120; n += 1) state.enginePauseEnded(iso(1_000 + n), 'op', at(1_000 + n));
    const { enginePauses } = state.memory();
    assert.deepEqual(
      [enginePauses.length, enginePauses[0], enginePauses.at(-1)],
      [100, iso(1_020), iso(1_119)],
    );
  });

  it('has the first memory of a new run', () => {
    assert.deepEqual(new RunState(CREATED).memory(), {
      changes: 0,
      results: [],
      artifacts: [],
      enginePauses: [],
      questions: [],
      asked: 0,
    });
  });
});

describe('a pause that Temporal held', () => {
  it('never shortens the paused time', () => {
    const state = executing('one');
    state.enginePauseEnded(iso(500), 'op', at(400));
    const change = state.takeChange();
    assert.equal(change?.view.paused_ms, 0);
    assert.deepEqual(change?.entries[0], {
      key: `engine-pause-over:${iso(500)}`,
      type: 'state.changed',
      at: iso(400),
      data: { from: 'paused', to: 'executing', by: 'op' },
    });
  });
});

describe('many unrecorded events', () => {
  const toggles = (state: RunState, times: number, from = 300) => {
    for (let n = 0; n < times; n += 1) {
      state.pause({ by: 'x' }, at(from + 2 * n));
      state.continue({ by: 'x' }, at(from + 2 * n + 1));
    }
  };
  it('are all kept up to 20', () => {
    const state = executing('one');
    toggles(state, 10);
    assert.equal(state.takeChange()?.entries.length, 20);
    toggles(state, 11);
    const entries = state.takeChange()?.entries ?? [];
    assert.equal(entries.length, 20);
    assert.equal(entries[0]?.at, iso(302), 'the oldest pause is left out');
  });

  it('keep a pause during which something happened, and one for a question', () => {
    const state = executing('one');
    state.pause({ by: 'x' }, at(250));
    state.stepStarted('id-one', 1, at(251));
    state.continue({ by: 'x' }, at(252));
    state.ask('id-one', '?', at(260));
    state.continue({ by: 'x' }, at(261));
    toggles(state, 30);
    const entries = state.takeChange()?.entries ?? [];
    assert.deepEqual(
      entries.slice(0, 5).map(({ at: time }) => time),
      [250, 251, 252, 260, 261].map(iso),
    );
    assert.equal(entries.length, 19);
  });

  it('keep a pause that ended with the run', () => {
    const state = executing('one');
    for (let attempt = 1; attempt <= 30; attempt += 1) state.stepStarted('id-one', attempt, at(300));
    state.pause({ by: 'x' }, at(400));
    state.end('cancelled', null, at(401));
    const entries = state.takeChange()?.entries ?? [];
    assert.deepEqual(
      entries.slice(-3).map(({ type, data }) => [type, data['to']]),
      [
        ['state.changed', 'paused'],
        ['state.changed', 'cancelled'],
        ['run.ended', undefined],
      ],
    );
  });
});

describe('the open question of a run', () => {
  it('has the id of the question; questions of earlier versions have the first one', () => {
    const question = { step: 's', agent: 'a', text: '?', at: iso(0) };
    assert.equal(openQuestionOf({ question: { ...question, id: '7' } }), '7');
    assert.equal(openQuestionOf({ question }), FIRST_QUESTION);
    assert.equal(FIRST_QUESTION, '1');
    assert.equal(openQuestionOf({ question: null }), null);
    assert.equal(openQuestionOf({}), null);
  });
});

describe('the texts of a run', () => {
  it('can be stored, whatever agents send', () => {
    const state = executing('one');
    state.stepStarted('id-one', 1, at(300));
    state.stepCompleted('id-one', { summary: 'a\u0000b', usage: null, message: '\ud800' }, at(310));
    const change = state.takeChange();
    assert.equal(change?.view.steps[0]?.summary, 'ab');
    assert.equal(change?.entries[1]?.data['text'], '\ufffd');
  });

  it('do not change after they were taken', () => {
    const state = executing('one');
    state.stepStarted('id-one', 1, at(300));
    const change = state.takeChange();
    state.stepCompleted('id-one', { summary: 's', usage: null, message: null }, at(310));
    assert.equal(change?.view.steps[0]?.status, 'running');
  });
});
