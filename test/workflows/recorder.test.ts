import assert from 'node:assert/strict';
import type { HistoryLength, RecordOutcome, RunChange, Writer } from '../../src/domain/tasks/run-change.ts';
import type { Plan } from '../../src/domain/tasks/plan.ts';
import { RunState } from '../../src/domain/tasks/run-state.ts';
import { initialView } from '../../src/domain/tasks/task-run.ts';
import type { TaskRunInput } from '../../src/temporal/task-messages.ts';
import { Recorder, type RecorderEngine } from '../../src/workflows/recorder.ts';

const RUN: TaskRunInput = {
  executionId: 'run-1',
  createdAt: '2026-01-01T00:00:00.000Z',
  hasCallback: false,
  taskType: 'bug',
  rehearsal: null,
  findBy: { workspaceId: 'workspace-1', projectId: 'project-1' },
};
const CREATED = Date.parse(RUN.createdAt);
const IDENTITY = ['BatonWorkspace=workspace-1', 'BatonProject=project-1', 'BatonTaskType=bug'];
const LENGTH: HistoryLength = { events: 10, bytes: 2_000, isLong: false };
const WRITER: Writer = { runId: 'execution-2', continuedFrom: 'execution-1', events: 10 };

const retry = { maximum_attempts: 1, initial_interval_ms: 1, backoff_coefficient: 1, maximum_interval_ms: 1 };
const PLAN: Plan = {
  backend: 'rehearsal',
  run_time_limit_ms: 1_000,
  steps: ['one', 'two'].map((name) => ({
    id: `id-${name}`,
    name,
    agent: 'a',
    after: [],
    time_limit_ms: 1,
    retry,
  })),
};

/** Records in memory. With `isHeld`, each write waits for `release`. */
class Engine implements RecorderEngine {
  length = LENGTH;
  isHeld = false;
  uncancelledWork = 0;
  readonly writes: RunChange[] = [];
  readonly attributes: string[][] = [];
  readonly details: string[] = [];
  /** The outcome of the next writes. */
  outcome: (change: RunChange) => RecordOutcome | Error = (change) => ({
    outcome: 'recorded',
    lastSeq: 100 + this.writes.indexOf(change),
  });
  #held: (() => void)[] = [];

  async recordRun(change: RunChange): Promise<RecordOutcome> {
    this.writes.push(change);
    if (this.isHeld) await new Promise<void>((done) => this.#held.push(done));
    const outcome = this.outcome(change);
    if (outcome instanceof Error) throw outcome;
    return outcome;
  }

  release(): void {
    this.#held.shift()?.();
  }

  async uncancelled<Result>(work: () => Promise<Result>): Promise<Result> {
    this.uncancelledWork += 1;
    return await work();
  }

  history(): HistoryLength {
    return this.length;
  }

  writer(): Writer {
    return WRITER;
  }

  upsertSearchAttributes(attributes: Parameters<RecorderEngine['upsertSearchAttributes']>[0]): void {
    this.attributes.push(attributes.map(({ key, value }) => `${key.name}=${String(value)}`));
  }

  setDetails(text: string): void {
    this.details.push(text);
  }
}

function setUp(run: TaskRunInput = RUN) {
  const engine = new Engine();
  const state = new RunState(CREATED);
  let timesGone = 0;
  const recorder = new Recorder(run, state, () => (timesGone += 1), engine);
  return { engine, state, recorder, timesGone: () => timesGone };
}

/** Lets everything run that waits for nothing but its turn. */
async function everythingElse(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
}

const GONE: RecordOutcome = { outcome: 'ended', state: 'cancelled', lastSeq: 7 };
const typesOf = (change: RunChange | undefined) => change?.entries.map(({ data }) => String(data['to']));

describe('the recorder of a run', () => {
  it('shows the view of a new run, and has nothing to write', () => {
    const { recorder } = setUp();
    assert.deepEqual(recorder.shown, initialView());
    assert.deepEqual([recorder.isIdle, recorder.isGone, recorder.isWriting], [true, false, false]);
    assert.equal(recorder.stateInAttribute, null);
    assert.deepEqual(recorder.history, LENGTH);
  });

  it('continues with the view of an earlier execution, and shows it in the Temporal Web UI', () => {
    const engine = new Engine();
    const view = { ...initialView(), state: 'paused' as const, paused_by: 'key:x', last_seq: 5 };
    const earlier = { view, stateInAttribute: 'executing' as const };
    const recorder = new Recorder(RUN, new RunState(CREATED), () => {}, engine, earlier);
    assert.equal(recorder.shown, view);
    assert.equal(recorder.stateInAttribute, 'executing');
    assert.deepEqual(engine.details, ['**paused**: 0 of 0 steps, paused by key:x']);
  });

  it('writes a change with its history, and then shows it with its last seq', async () => {
    const { engine, state, recorder } = setUp();
    state.begin(CREATED + 5);
    assert.equal(recorder.isIdle, false, 'a change waits');
    await recorder.flush();
    const [change] = engine.writes;
    assert.equal(engine.writes.length, 1);
    assert.deepEqual(
      [change?.executionId, change?.view?.state, typesOf(change), change?.enginePauseOver, change?.history],
      ['run-1', 'planning', ['planning'], false, LENGTH],
    );
    assert.deepEqual(change?.writer, WRITER);
    assert.deepEqual(recorder.shown, { ...change?.view, last_seq: 100 });
    assert.deepEqual(engine.details, ['**planning**: 0 of 0 steps']);
    assert.equal(recorder.isIdle, true);
    await recorder.flush();
    assert.equal(engine.writes.length, 1, 'nothing has changed');
  });

  it('says in the Temporal Web UI how many steps are completed, and the current one', async () => {
    const { engine, state, recorder } = setUp();
    state.begin(CREATED);
    state.agentsChosen(PLAN, CREATED);
    state.stepStarted('id-one', 1, CREATED);
    state.stepCompleted('id-one', { summary: 's', usage: null, message: null }, CREATED);
    state.stepStarted('id-two', 1, CREATED);
    state.pause({ by: 'user:ada' }, CREATED);
    await recorder.flush();
    assert.deepEqual(engine.details, ['**paused**: 1 of 2 steps, now **two**, paused by user:ada']);
  });

  it('writes all search attributes with the first flush, and then only a changed state', async () => {
    const { engine, state, recorder } = setUp();
    await recorder.flush();
    assert.deepEqual(engine.attributes, [[...IDENTITY, 'BatonState=initializing']]);
    assert.equal(recorder.stateInAttribute, 'initializing');
    await recorder.flush();
    assert.equal(engine.attributes.length, 1, 'the state has not changed');
    state.begin(CREATED);
    await recorder.flush();
    assert.deepEqual(engine.attributes[1], ['BatonState=planning']);
    assert.equal(recorder.stateInAttribute, 'planning');
  });

  it('writes no search attributes if Temporal does not have them', async () => {
    const { engine, state, recorder } = setUp({ ...RUN, findBy: null });
    state.begin(CREATED);
    await recorder.flush();
    assert.deepEqual([engine.attributes, recorder.stateInAttribute], [[], null]);
  });

  it('writes one change at a time; all changes during a write follow in the next one', async () => {
    const { engine, state, recorder } = setUp();
    engine.isHeld = true;
    state.begin(CREATED);
    const first = recorder.flush();
    assert.deepEqual([recorder.isWriting, recorder.isIdle], [true, false]);
    state.pause({ by: 'key:x' }, CREATED + 1);
    const second = recorder.flush();
    state.continue({ by: 'key:x' }, CREATED + 2);
    assert.equal(recorder.flush(), second, 'one flush after the write is enough for everybody');
    assert.deepEqual(engine.writes.map(typesOf), [['planning']]);
    engine.release();
    await first;
    await everythingElse();
    engine.release();
    await second;
    assert.deepEqual(engine.writes.map(typesOf), [['planning'], ['paused', 'planning']]);
    assert.deepEqual([recorder.isWriting, recorder.isIdle], [false, true]);
    assert.equal(engine.uncancelledWork, 2, 'no cancel stops a write');
  });

  it('is not idle while a flush waits for a write, although nothing has changed', async () => {
    const { engine, state, recorder } = setUp();
    engine.isHeld = true;
    state.begin(CREATED);
    const write = recorder.recordWith(async (change) => ({ recorded: await engine.recordRun(change) }));
    const flush = recorder.flush();
    engine.release();
    await write;
    assert.equal(recorder.isIdle, false);
    await flush;
    assert.equal(recorder.isIdle, true);
  });

  it('needs a further flush for what changes while the waiting flush writes', async () => {
    const { engine, state, recorder } = setUp();
    engine.isHeld = true;
    state.begin(CREATED);
    const first = recorder.flush();
    state.pause({ by: 'key:x' }, CREATED + 1);
    const second = recorder.flush();
    engine.release();
    await first;
    await everythingElse();
    state.continue({ by: 'key:x' }, CREATED + 2);
    const third = recorder.flush();
    assert.notEqual(third, second);
    engine.release();
    await second;
    await everythingElse();
    engine.release();
    await third;
    assert.deepEqual(engine.writes.map(typesOf), [['planning'], ['paused'], ['planning']]);
  });

  it('writes again after a write that failed', async () => {
    const { engine, state, recorder } = setUp();
    engine.outcome = () => new Error('down');
    engine.isHeld = true;
    state.begin(CREATED);
    const first = recorder.flush();
    const second = recorder.flush();
    engine.release();
    await assert.rejects(first, /down/);
    await assert.rejects(second, /down/);
    assert.equal(recorder.isIdle, true);
    engine.isHeld = false;
    state.pause({ by: 'key:x' }, CREATED + 1);
    await assert.rejects(recorder.flush(), /down/);
    engine.outcome = () => ({ outcome: 'recorded', lastSeq: 3 });
    state.continue({ by: 'key:x' }, CREATED + 2);
    await recorder.flush();
    assert.equal(recorder.shown.last_seq, 3);
  });

  it('knows whether an earlier workflow task began the write in progress', async () => {
    const { engine, state, recorder } = setUp();
    assert.equal(recorder.isWritingSinceEarlier, false);
    engine.isHeld = true;
    state.begin(CREATED);
    const flush = recorder.flush();
    assert.equal(recorder.isWritingSinceEarlier, false, 'the same task');
    engine.length = { ...LENGTH, events: 13 };
    assert.equal(recorder.isWritingSinceEarlier, true);
    engine.release();
    await flush;
    assert.equal(recorder.isWritingSinceEarlier, false, 'nothing is being written');
  });

  it('has the length of the history that the last write recorded, and four events for each signal', async () => {
    const { engine, state, recorder } = setUp();
    recorder.addSignal();
    assert.deepEqual(recorder.history, LENGTH, 'nothing is recorded yet');
    const recorded = { events: 20, bytes: 3_000, isLong: true };
    engine.outcome = () => ({ outcome: 'recorded', lastSeq: 1, history: recorded });
    state.begin(CREATED);
    await recorder.flush();
    engine.length = { ...LENGTH, events: 99 };
    assert.deepEqual(recorder.history, recorded);
    recorder.addSignal();
    assert.deepEqual(recorder.history, { ...recorded, events: 24 });
    engine.outcome = () => ({ outcome: 'recorded', lastSeq: 2 });
    state.pause({ by: 'key:x' }, CREATED);
    await recorder.flush();
    assert.deepEqual(recorder.history, { ...recorded, events: 24 }, 'written by a previous version');
  });

  it('writes once that a pause made in Temporal is over', async () => {
    const { engine, recorder } = setUp();
    recorder.recordEnginePauseEnd();
    assert.equal(recorder.isIdle, false);
    await recorder.flush();
    await recorder.flush();
    assert.deepEqual(engine.writes, [
      {
        executionId: 'run-1',
        view: null,
        entries: [],
        enginePauseOver: true,
        history: LENGTH,
        writer: WRITER,
      },
    ]);
    assert.deepEqual([recorder.isIdle, recorder.shown], [true, initialView()]);
    assert.deepEqual(engine.details, [], 'the view has not changed');
  });

  it('shows and writes nothing after something else has ended the run', async () => {
    const { engine, state, recorder, timesGone } = setUp();
    engine.outcome = () => GONE;
    state.begin(CREATED);
    await recorder.flush();
    assert.deepEqual([recorder.isGone, recorder.endedAs, timesGone()], [true, 'cancelled', 1]);
    assert.deepEqual([recorder.shown, engine.attributes], [initialView(), []]);
    state.pause({ by: 'key:x' }, CREATED);
    recorder.recordEnginePauseEnd();
    await recorder.flush();
    assert.equal(engine.writes.length, 1);
    assert.equal(await recorder.recordWith(() => assert.fail('it works on a run that is gone')), null);
    assert.equal(await recorder.recordEndWith(() => assert.fail('it works on a run that is gone')), null);
  });

  it('writes the end that something else has recorded to the search attributes', async () => {
    const { engine, state, recorder } = setUp();
    await recorder.flush();
    recorder.showRecordedEnd();
    assert.equal(engine.attributes.length, 1, 'nothing has ended it yet');
    engine.outcome = () => GONE;
    state.begin(CREATED);
    await recorder.flush();
    assert.equal(engine.attributes.length, 1);
    recorder.showRecordedEnd();
    assert.deepEqual(engine.attributes[1], ['BatonState=cancelled']);
  });
});

describe('work that records the change of a run with its own', () => {
  const recorded: RecordOutcome = { outcome: 'recorded', lastSeq: 9 };

  it('gets the change, and returns its result', async () => {
    const { state, recorder } = setUp();
    state.begin(CREATED);
    const given: RunChange[] = [];
    const result = await recorder.recordWith(async (change) => {
      given.push(change);
      return { recorded, value: 'done' };
    });
    assert.deepEqual(result, { recorded, value: 'done' });
    assert.deepEqual(given.map(typesOf), [['planning']]);
    assert.deepEqual([recorder.shown.state, recorder.shown.last_seq], ['planning', 9]);
  });

  it('gets an empty change if nothing has changed', async () => {
    const { recorder } = setUp();
    const given: RunChange[] = [];
    await recorder.recordWith(async (change) => {
      given.push(change);
      return { recorded };
    });
    assert.deepEqual(given, [
      {
        executionId: 'run-1',
        view: null,
        entries: [],
        enginePauseOver: false,
        history: LENGTH,
        writer: WRITER,
      },
    ]);
    assert.deepEqual(recorder.shown, initialView());
  });

  it('ends as nothing if the row of the run is missing', async () => {
    const { state, recorder, timesGone } = setUp();
    state.begin(CREATED);
    assert.equal(await recorder.recordWith(async () => ({ recorded: { outcome: 'missing' } })), null);
    assert.deepEqual([recorder.isGone, recorder.endedAs, timesGone()], [true, null, 1]);
  });

  it('returns nothing if the run is gone', async () => {
    const { recorder, timesGone } = setUp();
    assert.equal(await recorder.recordWith(async () => ({ recorded: GONE })), null);
    assert.deepEqual([recorder.isGone, timesGone()], [true, 1]);
  });

  it('does not end a run whose end is recorded already', async () => {
    const { state, recorder } = setUp();
    assert.equal(await recorder.recordEndWith(() => assert.fail('there is no end')), null);
    state.end('cancelled', null, CREATED);
    const result = await recorder.recordEndWith(async () => ({ recorded, value: 'ended' }));
    assert.deepEqual(result, { recorded, value: 'ended' });
    assert.equal(recorder.shown.state, 'cancelled');
  });

  it('waits for the write in progress, and then takes all changes', async () => {
    const { engine, state, recorder } = setUp();
    engine.isHeld = true;
    state.begin(CREATED);
    const flush = recorder.flush();
    const given: RunChange[] = [];
    const work = recorder.recordWith(async (change) => {
      given.push(change);
      return { recorded };
    });
    state.pause({ by: 'key:x' }, CREATED);
    assert.deepEqual(given, []);
    engine.release();
    await Promise.all([flush, work]);
    assert.deepEqual(given.map(typesOf), [['paused']]);
  });
});
