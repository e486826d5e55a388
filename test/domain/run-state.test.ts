import assert from 'node:assert/strict';
import { needOf } from '../../src/domain/tasks/run-change.ts';
import { RunState } from '../../src/domain/tasks/run-state.ts';
import { CREATED, executing, planOf } from './executing-run.ts';

describe('RunState', () => {
  it('needs a person from the changes on that ask or escalate, and only from these', () => {
    const state = executing('one', 'two');
    const need = () => {
      const change = state.takeChange();
      return change && needOf({ executionId: 'x', ...change });
    };
    state.stepStarted('id-one', 1, CREATED + 300);
    assert.equal(need(), null);
    state.ask('id-one', 'first?', CREATED + 400);
    state.ask('id-two', 'second?', CREATED + 410);
    assert.equal(need(), 'asked');
    state.stepStarted('id-two', 1, CREATED + 420);
    assert.equal(need(), null, 'the question was asked before');
    state.continue({ by: 'ada', question: '1' }, CREATED + 430);
    assert.equal(need(), 'asked', 'the second question');
    state.continue({ by: 'ada', question: '2' }, CREATED + 440);
    assert.equal(need(), null);
    state.pause({ by: 'ada' }, CREATED + 450);
    assert.equal(need(), null);
    state.continue({ by: 'ada' }, CREATED + 460);
    state.stepEscalated('id-one', 'Who decides?', CREATED + 470);
    state.end('escalated', null, CREATED + 480);
    assert.equal(need(), 'escalated');
  });

  it('has no change to record initially', () => {
    assert.equal(new RunState(CREATED).takeChange(), null);
  });

  it('shows one question at a time, which the next continue answers', () => {
    const state = executing('one', 'two');
    for (const id of ['id-one', 'id-two']) state.stepStarted(id, 1, CREATED + 300);
    assert.equal(state.ask('id-one', 'first?', CREATED + 400), 1);
    assert.equal(state.ask('id-two', 'second?', CREATED + 410), 2);
    assert.equal(state.takeChange()?.view.question?.text, 'first?');
    const answered = state.continue({ by: 'user:ada', reason: 'yes' }, CREATED + 500);
    assert.deepEqual(answered, { number: 1, answer: { by: 'user:ada', reason: 'yes' } });
    const change = state.takeChange();
    assert.equal(change?.view.question?.text, 'second?');
    assert.deepEqual(
      change?.entries.map(({ data }) => `${String(data['from'])} → ${String(data['to'])}`),
      ['paused → executing', 'executing → paused'],
    );
    assert.equal(change?.view.paused_ms, 100);
    assert.deepEqual(state.continue({ by: 'user:ada' }, CREATED + 600)?.answer.reason, null);
    assert.equal(state.takeChange()?.view.state, 'executing');
  });

  it('ignores answers to questions other than the open one', () => {
    const state = executing('one', 'two');
    for (const id of ['id-one', 'id-two']) state.stepStarted(id, 1, CREATED + 300);
    state.ask('id-one', 'first?', CREATED + 400);
    state.ask('id-two', 'second?', CREATED + 410);
    const answer = (question: string | null) =>
      state.continue({ by: 'user:ada', question }, CREATED + 500)?.number ?? null;
    assert.equal(answer('2'), null);
    assert.equal(answer(null), null);
    assert.equal(answer('1'), 1);
    assert.equal(answer(null), null);
    assert.equal(answer('1'), null);
    assert.equal(answer('2'), 2);
    assert.equal(answer('2'), null);
    assert.equal(state.isPaused, false);
  });

  it('numbers its questions further if it continues elsewhere, so that an old answer answers no new one', () => {
    const state = executing('one');
    state.stepStarted('id-one', 1, CREATED + 300);
    assert.equal(state.ask('id-one', 'first?', CREATED + 400), 1);
    state.continue({ by: 'user:ada', question: '1' }, CREATED + 410);
    const change = state.takeChange();
    assert.ok(change);
    const view = { ...change.view, last_seq: 1 };
    const later = new RunState(CREATED, { view, plan: planOf('one'), memory: state.memory() });
    assert.equal(later.ask('id-one', 'second?', CREATED + 500), 2);
    assert.equal(later.continue({ by: 'user:ada', question: '1' }, CREATED + 510), null);
    assert.ok(later.isPaused);
  });

  it('ignores an answer while paused without a question', () => {
    const state = executing('one');
    state.pause({ by: 'user:ada' }, CREATED + 300);
    state.continue({ by: 'user:ada', question: '1' }, CREATED + 310);
    assert.ok(state.isPaused);
    state.continue({ by: 'user:ada', question: null }, CREATED + 320);
    assert.ok(!state.isPaused);
  });

  it('omits completed pauses if many accumulate before they are recorded', () => {
    const state = executing('one');
    for (let n = 0; n < 1_000; n += 1) {
      state.pause({ by: 'user:ada' }, CREATED + 300 + n);
      state.continue({ by: 'user:ada' }, CREATED + 300 + n);
    }
    state.pause({ by: 'user:bob' }, CREATED + 2_000);
    const change = state.takeChange();
    const moves = change?.entries.map(({ data }) => data['to']) ?? [];
    assert.equal(moves.length, 19);
    assert.equal(moves.at(-1), 'paused');
    assert.deepEqual([change?.view.state, change?.view.paused_by], ['paused', 'user:bob']);
  });

  it('shows a question after the pause of a user, whose continue does not answer it', () => {
    const state = executing('one');
    state.stepStarted('id-one', 1, CREATED + 300);
    state.pause({ by: 'user:ada' }, CREATED + 310);
    state.ask('id-one', 'may I?', CREATED + 320);
    assert.equal(state.takeChange()?.view.question, null);
    assert.equal(state.continue({ by: 'user:ada' }, CREATED + 330), null);
    assert.equal(state.takeChange()?.view.question?.text, 'may I?');
    state.end('cancelled', { by: 'user:ada' }, CREATED + 340);
    assert.equal(state.takeChange()?.view.question, null);
    assert.equal(state.ask('id-one', 'too late?', CREATED + 350), null);
  });

  it('derives progress from its steps, and ends with 100 percent', () => {
    const state = executing('one', 'two');
    state.stepStarted('id-one', 1, CREATED + 300);
    state.stepCompleted('id-one', { summary: 's', usage: null, message: null }, CREATED + 350);
    state.stepStarted('id-two', 1, CREATED + 350);
    const half = state.takeChange();
    assert.deepEqual(half?.view.progress, {
      percent: 50,
      steps_completed: 1,
      steps_total: 2,
      current_step: 'two',
    });
    state.stepCompleted('id-two', { summary: 't', usage: null, message: 'hello' }, CREATED + 400);
    state.end('completed', null, CREATED + 400);
    const end = state.takeChange();
    assert.deepEqual(
      end?.entries.map((entry) => entry.type),
      ['agent.message', 'step.completed', 'state.changed', 'run.ended'],
    );
    assert.equal(end?.view.progress.percent, 100);
    assert.equal(end?.view.duration_ms, 300);
    assert.equal(end?.view.started_at, '2026-01-01T00:00:00.100Z');
    assert.deepEqual(end?.view.output?.['backend'], 'rehearsal');
  });

  it('counts paused time separately from active time', () => {
    const state = executing('one');
    state.pause({ by: 'key:x' }, CREATED + 1_000);
    assert.equal(state.activeMs(CREATED + 5_000), 900);
    state.pause({ by: 'key:y' }, CREATED + 1_500);
    state.continue({ by: 'key:x' }, CREATED + 3_000);
    state.continue({ by: 'key:x' }, CREATED + 3_500);
    const change = state.takeChange();
    assert.equal(change?.entries.length, 2, 'the second pause and the second continue change nothing');
    assert.equal(change?.view.paused_ms, 2_000);
    assert.equal(change?.view.state, 'executing');
    assert.equal(state.activeMs(CREATED + 4_100), 2_000);
  });

  it('keeps its first pause if it is paused again', () => {
    const state = executing('one');
    state.pause({ by: 'key:x' }, CREATED + 300);
    state.pause({ by: 'key:y' }, CREATED + 310);
    assert.equal(state.takeChange()?.view.paused_by, 'key:x');
  });

  it('counts a pause in Temporal once, and not again during its own pause', () => {
    const state = executing('one');
    const pausedAt = new Date(CREATED + 1_000).toISOString();
    state.enginePauseEnded(pausedAt, 'temporal: op', CREATED + 1_600);
    state.enginePauseEnded(pausedAt, 'temporal: op', CREATED + 9_000);
    const change = state.takeChange();
    assert.equal(change?.view.paused_ms, 600);
    assert.deepEqual(
      change?.entries.map((entry) => entry.data),
      [{ from: 'paused', to: 'executing', by: 'temporal: op' }],
    );
    state.pause({ by: 'key:x' }, CREATED + 2_000);
    state.enginePauseEnded(new Date(CREATED + 2_100).toISOString(), 'temporal: op', CREATED + 2_900);
    state.continue({ by: 'key:x' }, CREATED + 3_000);
    assert.equal(state.takeChange()?.view.paused_ms, 1_600);
  });

  it('ends the pause, cancels running steps and skips pending ones if cancelled while paused', () => {
    const state = executing('one', 'two');
    state.stepStarted('id-one', 1, CREATED + 300);
    state.pause({ by: 'key:x' }, CREATED + 400);
    state.end('cancelled', { by: 'user:y', reason: 'enough' }, CREATED + 500);
    const view = state.takeChange()?.view;
    assert.deepEqual(
      view?.steps.map((step) => step.status),
      ['cancelled', 'skipped'],
    );
    assert.deepEqual([view?.state, view?.paused_at, view?.paused_ms], ['cancelled', null, 100]);
  });

  it('uses the creation time as started_at if cancelled before its start', () => {
    const state = new RunState(CREATED);
    state.end('cancelled', { by: 'user:y' }, CREATED + 70);
    const view = state.takeChange()?.view;
    assert.deepEqual([view?.started_at, view?.duration_ms], ['2026-01-01T00:00:00.000Z', 70]);
  });

  it('cannot complete while paused, and does not change after its end', () => {
    const state = executing('one');
    state.pause({ by: 'key:x' }, CREATED + 300);
    state.end('completed', null, CREATED + 400);
    assert.equal(state.isPaused, true);
    state.continue({ by: 'key:x' }, CREATED + 500);
    state.end('completed', null, CREATED + 600);
    state.takeChange();
    state.end('cancelled', { by: 'x' }, CREATED + 700);
    state.pause({ by: 'x' }, CREATED + 700);
    assert.equal(state.takeChange(), null);
  });

  it('lists only the failures without a retry in `errors`', () => {
    const state = executing('one');
    state.stepStarted('id-one', 1, CREATED + 300);
    state.stepFailed('id-one', 'step_failed', 'first', 10, CREATED + 310);
    assert.deepEqual(state.takeChange()?.view.errors, []);
    state.stepStarted('id-one', 2, CREATED + 320);
    state.stepFailed('id-one', 'step_failed', 'second', null, CREATED + 330);
    state.end('failed', null, CREATED + 340);
    const view = state.takeChange()?.view;
    assert.deepEqual(
      view?.errors.map((error) => [error.code, error.message, error.step]),
      [['step_failed', 'second', 'one']],
    );
    assert.equal(view?.steps[0]?.attempt, 2);
  });

  it('assigns other keys to a change that follows additional signals', () => {
    const keysOf = (state: RunState) => state.takeChange()?.entries.map((entry) => entry.key) ?? [];
    const first = new RunState(CREATED);
    first.begin(CREATED);
    const repeated = new RunState(CREATED);
    repeated.pause({ by: 'key:x' }, CREATED);
    repeated.continue({ by: 'key:x' }, CREATED);
    repeated.begin(CREATED);
    const known = keysOf(first);
    assert.ok(keysOf(repeated).every((key) => !known.includes(key)));
  });

  it('assigns another key to a pause by request than to a question that the first try asked', () => {
    const [first, repeated] = [executing('one'), executing('one')];
    first.ask('id-one', 'may I?', CREATED + 300);
    repeated.pause({ by: 'key:x' }, CREATED + 300);
    const [asked, paused] = [first, repeated].map((state) => state.takeChange()?.entries[0]?.key);
    assert.notEqual(asked, paused);
  });

  it('assigns unique keys to events, and the same ones when repeated', () => {
    const play = () => {
      const state = executing('one');
      state.stepStarted('id-one', 1, CREATED + 300);
      state.stepCompleted('id-one', { summary: 's', usage: null, message: 'm' }, CREATED + 350);
      state.end('completed', null, CREATED + 400);
      return state.takeChange()?.entries.map((entry) => entry.key) ?? [];
    };
    assert.deepEqual(play(), play());
    assert.equal(new Set(play()).size, play().length);
  });
});
