import assert from 'node:assert/strict';
import type { WorkflowHandle } from '@temporalio/client';
import type { StepOutcome, StepWork } from '../../src/domain/tasks/step-work.ts';
import type { RunView } from '../../src/domain/tasks/run-schemas.ts';
import { cancelSignal, continueSignal, pauseSignal } from '../../src/temporal/task-messages.ts';
import { entriesOf, playSkipping, type SkippedPlay } from './skipped-time.ts';
import { useTimeSkipping } from '../support/time-skipping.ts';

const HOUR = 3_600_000;
const AGENTS = `
agents: { ada: { instructions: work } }
defaults: { run_time_limit: 24 h, step_time_limit: 30 min, retry: { maximum_attempts: 4, initial_interval: 1 h, backoff_coefficient: 3, maximum_interval: 20 h } }
teams:
  feature: [{ step: one, agent: ada }, { step: two, agent: ada }]
  bug: [{ step: one, agent: ada }]
  spec: [{ step: one, agent: ada }]
  chore: [{ step: one, agent: ada, retry: { maximum_attempts: 9, initial_interval: 10 h, backoff_coefficient: 1, maximum_interval: 10 h } }]
`;
const me = { by: 'key:test' };

const done = async ({ step }: StepWork): Promise<StepOutcome> => ({
  kind: 'completed',
  result: { summary: `${step.name} is done`, usage: null, message: null },
});

/** Long times, on a server that skips to the next timer. */
describe('a run over many hours', function () {
  const environment = useTimeSkipping();
  const isPaused = ({ state }: RunView) => state === 'paused';
  const play = (scenario: SkippedPlay) => playSkipping(environment, AGENTS, scenario);

  it('waits between the attempts of a step by the retry policy', async () => {
    let handle: WorkflowHandle | undefined;
    const changes = await play({
      taskType: 'bug',
      rehearsal: null,
      during: async (run) => void ({ handle } = run),
    });
    assert.equal(entriesOf(changes, 'step.started').length, 4);
    assert.equal(changes.at(-1)?.view?.errors[0]?.code, 'step_failed');
    const { events } = (await handle?.fetchHistory()) ?? {};
    const timers = (events ?? []).flatMap(({ timerStartedEventAttributes: timer }) =>
      timer ? [Number(timer.startToFireTimeout?.seconds)] : [],
    );
    // The first timer is the time limit of the run.
    assert.deepEqual(timers.slice(1), [3_600, 3 * 3_600, 9 * 3_600]);
  });

  it('ends after 24 h of activity', async () => {
    const changes = await play({ taskType: 'chore', rehearsal: null });
    const end = changes.at(-1)?.view;
    assert.equal(end?.state, 'failed');
    assert.equal(end?.errors[0]?.code, 'run_timed_out');
    assert.equal(end?.steps[0]?.status, 'cancelled');
    assert.equal(Math.round((end?.duration_ms ?? 0) / HOUR), 24);
    assert.equal(entriesOf(changes, 'step.started').length, 3);
  });

  it('has no more time if it was paused before its start', async () => {
    const changes = await play({
      taskType: 'chore',
      rehearsal: { start_ms: HOUR },
      async during(run) {
        await run.handle.signal(pauseSignal, me);
        await run.becomes('paused', isPaused);
        await run.pass(30 * HOUR);
        await run.handle.signal(continueSignal, me);
      },
    });
    const end = changes.at(-1)?.view;
    assert.equal(end?.errors[0]?.code, 'run_timed_out');
    assert.deepEqual(
      [end?.duration_ms, end?.paused_ms].map((ms) => Math.round((ms ?? 0) / HOUR)),
      [24, 30],
    );
  });

  it('counts from the first execution of a run that continues as a new one while it rests', async () => {
    let handle: WorkflowHandle | undefined;
    const changes = await play({
      taskType: 'chore',
      rehearsal: null,
      historyEvents: 8,
      during: async (run) => void ({ handle } = run),
    });
    const end = changes.at(-1)?.view;
    assert.deepEqual([end?.state, end?.errors[0]?.code], ['failed', 'run_timed_out']);
    assert.equal(Math.round((end?.duration_ms ?? 0) / HOUR), 24);
    assert.equal(entriesOf(changes, 'step.started').length, 3);
    const { events } = (await handle?.fetchHistory()) ?? {};
    assert.ok(events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId);
  });

  const moves = (changes: Awaited<ReturnType<typeof play>>) =>
    entriesOf(changes, 'state.changed').map(({ data }) => `${String(data['from'])} → ${String(data['to'])}`);

  type During = NonNullable<SkippedPlay['during']>;
  /** Plays a run that is paused during its first step. Calls `then` once that step has completed. */
  function playPausedInStep(
    rehearsal: object,
    then: (run: Parameters<During>[0], kept: RunView) => Promise<void>,
  ) {
    const gate = Promise.withResolvers<void>();
    return play({
      taskType: 'feature',
      rehearsal: { step_ms: 1_000, ...rehearsal },
      async work(step) {
        await gate.promise;
        return await done(step);
      },
      async during(run) {
        await run.becomes('step one', ({ steps }) => steps[0]?.status === 'running');
        await run.handle.signal(pauseSignal, me);
        await run.becomes('paused', isPaused);
        gate.resolve();
        await then(run, await run.becomes('kept', ({ steps }) => steps[0]?.status === 'completed'));
      },
    });
  }

  for (const [phase, rehearsal] of [
    ['initializing', { start_ms: HOUR }],
    ['planning', { plan_ms: HOUR }],
  ] as const) {
    it(`starts nothing while it is paused in ${phase}, and continues there`, async () => {
      const changes = await play({
        taskType: 'feature',
        rehearsal,
        work: done,
        async during(run) {
          if (phase === 'planning') await run.becomes(phase, ({ state }) => state === phase);
          await run.handle.signal(pauseSignal, me);
          const paused = await run.becomes('paused', isPaused);
          assert.deepEqual([paused.paused_from, paused.paused_by], [phase, 'key:test']);
          const before = run.changes.length;
          await run.pass(5 * HOUR);
          assert.equal(run.changes.length, before, 'nothing is recorded');
          await run.handle.signal(continueSignal, me);
        },
      });
      const all = moves(changes);
      const at = all.indexOf(`${phase} → paused`);
      assert.deepEqual(all.slice(at, at + 2), [`${phase} → paused`, `paused → ${phase}`]);
      assert.equal(all.at(-1), 'executing → completed');
    });
  }

  it('keeps the result of a running step during a pause, and starts no other step', async () => {
    const changes = await playPausedInStep({}, async (run, kept) => {
      assert.equal(kept.state, 'paused');
      const before = run.changes.length;
      await run.pass(5 * HOUR);
      assert.equal(run.changes.length, before, 'nothing is recorded');
      assert.equal(entriesOf(run.changes, 'step.started').length, 1);
      await run.handle.signal(continueSignal, me);
    });
    assert.deepEqual(moves(changes).slice(-3), [
      'executing → paused',
      'paused → executing',
      'executing → completed',
    ]);
    assert.equal(entriesOf(changes, 'step.started').length, 2);
  });

  it('does not count a pause towards its time limit', async () => {
    let attempts = 0;
    const changes = await play({
      taskType: 'bug',
      rehearsal: null,
      // The first attempt fails, so the run waits an hour.
      work: async (step) => {
        attempts += 1;
        return attempts === 1 ? { kind: 'failed', message: 'not yet' } : await done(step);
      },
      async during(run) {
        await run.becomes('waiting for the retry', ({ steps }) => Boolean(steps[0]?.error));
        await run.handle.signal(pauseSignal, me);
        await run.becomes('paused', isPaused);
        await run.pass(48 * HOUR);
        await run.handle.signal(continueSignal, me);
      },
    });
    const end = changes.at(-1)?.view;
    assert.deepEqual([end?.state, end?.errors], ['completed', []]);
    assert.equal(Math.round((end?.paused_ms ?? 0) / HOUR), 48);
    assert.ok((end?.duration_ms ?? 0) >= (end?.paused_ms ?? 0));
  });

  it('does not count the days in which a question waits', async () => {
    const changes = await play({
      taskType: 'feature',
      rehearsal: { ask: { step: 2, question: 'May I?' } },
      work: done,
      async during(run) {
        await run.becomes('asked', isPaused);
        const before = run.changes.length;
        await run.pass(72 * HOUR);
        assert.equal(run.changes.length, before, 'nothing is recorded');
        await run.handle.signal(continueSignal, { ...me, reason: 'yes' });
      },
    });
    const end = changes.at(-1)?.view;
    assert.deepEqual([end?.state, Math.round((end?.paused_ms ?? 0) / HOUR)], ['completed', 72]);
  });

  it('has an agent ask only after the pause by a person', async () => {
    const ask = { step: 2, question: 'May I?' };
    const changes = await playPausedInStep({ ask }, async (run, kept) => {
      assert.deepEqual([kept.question, kept.paused_by], [null, 'key:test']);
      await run.pass(HOUR);
      await run.handle.signal(continueSignal, me);
      const asked = await run.becomes('asked', ({ question }) => question !== null);
      assert.deepEqual([asked.state, asked.paused_by], ['paused', 'agent:ada']);
      await run.handle.signal(continueSignal, me);
    });
    assert.equal(moves(changes).at(-1), 'executing → completed');
  });

  it('can be cancelled during a pause', async () => {
    const changes = await play({
      taskType: 'feature',
      rehearsal: { start_ms: HOUR },
      async during(run) {
        await run.handle.signal(pauseSignal, me);
        await run.becomes('paused', isPaused);
        await run.handle.signal(cancelSignal, me);
      },
    });
    assert.equal(moves(changes).at(-1), 'paused → cancelled');
  });
});
