import type { SearchAttributePair } from '@temporalio/common';
import type { HistoryLength, RecordOutcome, RunChange, Writer } from '../domain/tasks/run-change.ts';
import type { RunState } from '../domain/tasks/run-state.ts';
import type { RunView } from '../domain/tasks/run-schemas.ts';
import { initialView } from '../domain/tasks/task-run.ts';
import type { TaskState } from '../domain/tasks/task-states.ts';
import {
  projectAttribute,
  stateAttribute,
  taskTypeAttribute,
  workspaceAttribute,
  type TaskRunInput,
} from '../temporal/task-messages.ts';

/** What the recorder needs of Temporal and the database. */
export type RecorderEngine = {
  /** Writes a change. Tries again for as long as the database is down. */
  recordRun(change: RunChange): Promise<RecordOutcome>;
  /** Does work that a cancel of the run does not stop. */
  uncancelled<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Returns the current length of the history. */
  history(): HistoryLength;
  /** Returns the workflow task in progress. */
  writer(): Writer;
  upsertSearchAttributes(attributes: SearchAttributePair[]): void;
  /** Sets the text that the Temporal Web UI shows. */
  setDetails(text: string): void;
};

/** A signal, and the workflow task that handles it. */
const EVENTS_OF_SIGNAL = 4;

/**
 * Records the changes of a run and shows only what is recorded: {@link Recorder.shown} is the last view in the
 * database, with its `seq` there. Changes made during a write are recorded with the next one.
 */
export class Recorder {
  shown: RunView = initialView();
  /** Whether this workflow must not write the run any more: it was erased, or something else ended it. */
  isGone = false;
  /** How the run has ended, if its end was recorded without this workflow; null if not, or if it was erased. */
  endedAs: TaskState | null = null;

  readonly #executionId: string;
  readonly #identity: SearchAttributePair[] | null;
  readonly #state: RunState;
  readonly #onGone: () => void;
  readonly #engine: RecorderEngine;
  #writing: Promise<unknown> | null = null;
  /** The length of the history when the write in progress began. */
  #writingSince = 0;
  /** A flush that waits for the write in progress. */
  #nextFlush: Promise<void> | null = null;
  #enginePauseOver = false;
  #stateInAttribute: TaskState | null = null;
  #history: HistoryLength | null = null;

  /** `earlier`: what an earlier execution of the workflow has recorded. */
  constructor(
    run: TaskRunInput,
    state: RunState,
    onGone: () => void,
    engine: RecorderEngine,
    earlier: { view: RunView; stateInAttribute: TaskState | null } | null = null,
  ) {
    this.#executionId = run.executionId;
    this.#identity = run.findBy && identityOf(run.findBy, run.taskType);
    this.#state = state;
    this.#onGone = onGone;
    this.#engine = engine;
    if (earlier === null) return;
    this.shown = earlier.view;
    this.#stateInAttribute = earlier.stateInAttribute;
    this.#updateDetails();
  }

  /** Whether no write is in progress, and no change waits to be written. */
  get isIdle(): boolean {
    return (
      this.#writing === null &&
      this.#nextFlush === null &&
      !this.#enginePauseOver &&
      !this.#state.hasUnrecorded
    );
  }

  /** Whether an earlier workflow task has begun the write in progress. */
  get isWritingSinceEarlier(): boolean {
    return this.#writing !== null && this.#writingSince < this.#engine.history().events;
  }

  /** Whether something is being written. */
  get isWriting(): boolean {
    return this.#writing !== null;
  }

  /**
   * The length of the history. While a write takes longer than a workflow task, the history grows, and a replay finds
   * the later length from the beginning of the write. So the length is the one that the last write has recorded, and what
   * signals have added since.
   */
  get history(): HistoryLength {
    return this.#history ?? this.#engine.history();
  }

  /** Adds a signal to the length of the history. */
  addSignal(): void {
    if (this.#history) this.#history = { ...this.#history, events: this.#history.events + EVENTS_OF_SIGNAL };
  }

  /** The state in the search attributes; null if they were never written. */
  get stateInAttribute(): TaskState | null {
    return this.#stateInAttribute;
  }

  /** Records with the next flush that a pause made in the Web UI is over. */
  recordEnginePauseEnd(): void {
    this.#enginePauseOver = true;
  }

  /** Resolves when all changes so far are recorded and the search attributes contain the state. */
  flush(): Promise<void> {
    if (this.#writing === null) return this.#oneAtATime(() => this.#recordChange());
    // One flush after the write in progress is enough for all signals: hundreds may arrive at once.
    this.#nextFlush ??= this.#flushNext();
    return this.#nextFlush;
  }

  async #flushNext(): Promise<void> {
    try {
      await this.#oneAtATime(async () => {
        // Later changes need another flush.
        this.#nextFlush = null;
        await this.#recordChange();
      });
    } catch (error) {
      this.#nextFlush = null;
      throw error;
    }
  }

  async #recordChange(): Promise<void> {
    const change = this.#takeChange();
    if (change) this.#applyOutcome(change, await this.#engine.recordRun(change));
    this.#updateSearchAttributes();
  }

  /**
   * Lets a local activity record the pending change before its own work, so that one database call does both. Returns
   * the activity's result, or null if the run is gone. A caller that waits for longer afterwards must flush first.
   * States that last only milliseconds are not worth a history event and an update of the server's search index each.
   */
  async recordWith<Result extends { recorded: RecordOutcome }>(
    work: (change: RunChange) => Promise<Result>,
  ): Promise<Result | null> {
    return await this.#oneAtATime(async () => {
      if (this.isGone) return null;
      return await this.#recordWith(this.#takeChange() ?? this.#emptyChange(), work);
    });
  }

  /** Does the same for the change that ends the run. Also returns null if the end is recorded already. */
  async recordEndWith<Result extends { recorded: RecordOutcome }>(
    work: (change: RunChange) => Promise<Result>,
  ): Promise<Result | null> {
    return await this.#oneAtATime(async () => {
      const change = this.#takeChange();
      return change && (await this.#recordWith(change, work));
    });
  }

  async #recordWith<Result extends { recorded: RecordOutcome }>(
    change: RunChange,
    work: (change: RunChange) => Promise<Result>,
  ): Promise<Result | null> {
    const result = await work(change);
    this.#applyOutcome(change, result.recorded);
    return this.isGone ? null : result;
  }

  /** Runs one write at a time. A write that waits takes all changes made until its turn. */
  async #oneAtATime<Result>(write: () => Promise<Result>): Promise<Result> {
    while (this.#writing) await this.#writing;
    const writing = this.#engine.uncancelled(write);
    this.#writing = writing;
    this.#writingSince = this.#engine.history().events;
    try {
      return await writing;
    } finally {
      this.#writing = null;
    }
  }

  #takeChange(): RunChange | null {
    const change = this.#state.takeChange();
    const enginePauseOver = this.#enginePauseOver;
    if (this.isGone || (change === null && !enginePauseOver)) return null;
    this.#enginePauseOver = false;
    return { ...this.#emptyChange(), ...change, enginePauseOver };
  }

  #emptyChange(): RunChange {
    return {
      executionId: this.#executionId,
      view: null,
      entries: [],
      enginePauseOver: false,
      history: this.#engine.history(),
      writer: this.#engine.writer(),
    };
  }

  #applyOutcome({ view }: RunChange, result: RecordOutcome): void {
    if (result.outcome !== 'recorded') {
      this.isGone = true;
      if (result.outcome === 'ended') this.endedAs = result.state;
      this.#onGone();
      return;
    }
    this.#history = result.history ?? this.#history;
    if (view) {
      this.shown = { ...view, last_seq: result.lastSeq };
      this.#updateDetails();
    }
  }

  /** Writes the end that was recorded without this workflow to the search attributes. */
  showRecordedEnd(): void {
    if (this.endedAs !== null) this.#writeToAttributes(this.endedAs);
  }

  #updateSearchAttributes(): void {
    if (!this.isGone) this.#writeToAttributes(this.shown.state);
  }

  #writeToAttributes(state: TaskState): void {
    if (!this.#identity || state === this.#stateInAttribute) return;
    const isFirst = this.#stateInAttribute === null;
    this.#engine.upsertSearchAttributes([
      ...(isFirst ? this.#identity : []),
      { key: stateAttribute, value: state },
    ]);
    this.#stateInAttribute = state;
  }

  #updateDetails(): void {
    const { state, progress, paused_by } = this.shown;
    const steps = `${progress.steps_completed} of ${progress.steps_total} steps`;
    const step = progress.current_step === null ? '' : `, now **${progress.current_step}**`;
    const pause = paused_by === null ? '' : `, paused by ${paused_by}`;
    this.#engine.setDetails(`**${state}**: ${steps}${step}${pause}`);
  }
}

/** Returns the search attributes that never change during a run. */
function identityOf(
  { workspaceId, projectId }: NonNullable<TaskRunInput['findBy']>,
  taskType: TaskRunInput['taskType'],
): SearchAttributePair[] {
  return [
    { key: workspaceAttribute, value: workspaceId },
    { key: projectAttribute, value: projectId },
    { key: taskTypeAttribute, value: taskType },
  ];
}
