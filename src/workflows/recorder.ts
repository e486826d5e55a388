import {
  CancellationScope,
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { SearchAttributePair } from '@temporalio/common';
import type { RunRecords } from '../activities/run-records.ts';
import type { RecordOutcome, RunChange } from '../domain/tasks/run-change.ts';
import type { RunState } from '../domain/tasks/run-state.ts';
import { initialView, type RunView } from '../domain/tasks/task-run.ts';
import type { TaskState } from '../domain/tasks/task-states.ts';
import {
  projectAttribute,
  stateAttribute,
  taskTypeAttribute,
  workspaceAttribute,
  type TaskRunInput,
} from '../temporal/task-messages.ts';

const records = proxyLocalActivities<RunRecords>({
  startToCloseTimeout: '10 s',
  // The database may be away for long; the run waits for it, since it never acts on what is not recorded.
  retry: { initialInterval: '200 ms', maximumInterval: '5 s' },
});

/**
 * Writes what happens to a run, and shows only what has been written: {@link Recorder.shown} is the last view
 * that is in the database, with the `seq` it has there. News that come up while a write is under way go out
 * together with the next one.
 */
export class Recorder {
  shown: RunView = initialView();
  /** Set when the run is not ours to write any more: erased, or ended by somebody else. */
  isGone = false;

  readonly #executionId: string;
  readonly #identity: SearchAttributePair[] | null;
  readonly #state: RunState;
  readonly #onGone: () => void;
  #writing: Promise<unknown> | null = null;
  #enginePauseOver = false;
  #stateInAttribute: TaskState | null = null;

  constructor(run: TaskRunInput, state: RunState, onGone: () => void) {
    this.#executionId = run.executionId;
    this.#identity = run.findBy && identityOf(run.findBy, run.taskType);
    this.#state = state;
    this.#onGone = onGone;
  }

  /** Notes that a pause of the Web UI is over; written with the next flush. */
  noteEnginePauseOver(): void {
    this.#enginePauseOver = true;
  }

  /** Resolves when all news so far are written, and the Web UI can find the run by its state. */
  async flush(): Promise<void> {
    await this.#inTurn(async () => {
      const news = this.#takeNews();
      if (news) this.#noteWritten(news, await records.recordRun(news));
      this.#makeFindable();
    });
  }

  /**
   * Lets a local activity that has work of its own write the news first: one way into the database instead of
   * two. Answers what the activity answered, or null when the run is gone. Whoever waits for longer afterwards
   * flushes first: states that pass within a moment are not worth an event in the history and a write of the
   * server's search index each.
   */
  async carryNews<Result extends { recorded: RecordOutcome }>(
    carry: (news: RunChange) => Promise<Result>,
  ): Promise<Result | null> {
    return await this.#inTurn(async () => {
      if (this.isGone) return null;
      return await this.#carry(this.#takeNews() ?? this.#nothingNew(), carry);
    });
  }

  /** As {@link carryNews}, for the news that the run has ended. Null also where the end is written already. */
  async carryEnd<Result extends { recorded: RecordOutcome }>(
    carry: (news: RunChange) => Promise<Result>,
  ): Promise<Result | null> {
    return await this.#inTurn(async () => {
      const news = this.#takeNews();
      return news && (await this.#carry(news, carry));
    });
  }

  async #carry<Result extends { recorded: RecordOutcome }>(
    news: RunChange,
    carry: (news: RunChange) => Promise<Result>,
  ): Promise<Result | null> {
    const result = await carry(news);
    this.#noteWritten(news, result.recorded);
    return this.isGone ? null : result;
  }

  /** One write at a time: whoever comes while one is under way waits, and then takes all the news there are. */
  async #inTurn<Result>(write: () => Promise<Result>): Promise<Result> {
    while (this.#writing) await this.#writing;
    const writing = CancellationScope.nonCancellable(write);
    this.#writing = writing;
    try {
      return await writing;
    } finally {
      this.#writing = null;
    }
  }

  #takeNews(): RunChange | null {
    const news = this.#state.takeNews();
    const enginePauseOver = this.#enginePauseOver;
    if (this.isGone || (news === null && !enginePauseOver)) return null;
    this.#enginePauseOver = false;
    return { ...this.#nothingNew(), ...news, enginePauseOver };
  }

  #nothingNew(): RunChange {
    return { executionId: this.#executionId, view: null, entries: [], enginePauseOver: false };
  }

  #noteWritten({ view }: RunChange, result: RecordOutcome): void {
    if (result.outcome !== 'recorded') {
      this.isGone = true;
      this.#onGone();
    } else if (view) {
      this.shown = { ...view, last_seq: result.lastSeq };
      this.#tellTheWebUi();
    }
  }

  #makeFindable(): void {
    const { state } = this.shown;
    if (!this.#identity || this.isGone || state === this.#stateInAttribute) return;
    const isFirst = this.#stateInAttribute === null;
    upsertSearchAttributes([...(isFirst ? this.#identity : []), { key: stateAttribute, value: state }]);
    this.#stateInAttribute = state;
  }

  #tellTheWebUi(): void {
    const { state, progress, paused_by } = this.shown;
    const steps = `${progress.steps_completed} of ${progress.steps_total} steps`;
    const step = progress.current_step === null ? '' : `, now **${progress.current_step}**`;
    const pause = paused_by === null ? '' : `, paused by ${paused_by}`;
    setCurrentDetails(`**${state}**: ${steps}${step}${pause}`);
  }
}

/** What of a run never changes and is searched by. */
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
