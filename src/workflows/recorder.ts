import {
  CancellationScope,
  proxyLocalActivities,
  setCurrentDetails,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { RunRecords } from '../activities/run-records.ts';
import type { RunState } from '../domain/run-state.ts';
import { initialView, type RunView } from '../domain/task-run.ts';
import type { TaskState } from '../domain/task-states.ts';
import { stateAttribute } from './messages.ts';

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
  readonly #state: RunState;
  readonly #onGone: () => void;
  #writing: Promise<void> | null = null;
  #enginePauseOver = false;
  #stateInAttribute: TaskState = 'initializing';

  constructor(executionId: string, state: RunState, onGone: () => void) {
    this.#executionId = executionId;
    this.#state = state;
    this.#onGone = onGone;
  }

  /** Notes that a pause of the Web UI is over; written with the next flush. */
  noteEnginePauseOver(): void {
    this.#enginePauseOver = true;
  }

  /** Resolves when all news so far are written. */
  async flush(): Promise<void> {
    // Whoever comes while a write is under way waits for that one and then for the next, which has its news.
    while (this.#writing) await this.#writing;
    this.#writing = CancellationScope.nonCancellable(() => this.#write());
    try {
      await this.#writing;
    } finally {
      this.#writing = null;
    }
  }

  async #write(): Promise<void> {
    const news = this.#state.takeNews();
    const enginePauseOver = this.#enginePauseOver;
    if (this.isGone || (news === null && !enginePauseOver)) return;
    this.#enginePauseOver = false;
    const result = await records.recordRun({
      executionId: this.#executionId,
      view: news?.view ?? null,
      entries: news?.entries ?? [],
      enginePauseOver,
    });
    if (result.outcome !== 'recorded') {
      this.isGone = true;
      this.#onGone();
    } else if (news) {
      this.shown = { ...news.view, last_seq: result.lastSeq };
      this.#tellTheWebUi();
    }
  }

  #tellTheWebUi(): void {
    const { state, progress, paused_by } = this.shown;
    if (state !== this.#stateInAttribute) {
      upsertSearchAttributes([{ key: stateAttribute, value: state }]);
      this.#stateInAttribute = state;
    }
    const steps = `${progress.steps_completed} of ${progress.steps_total} steps`;
    const step = progress.current_step === null ? '' : `, now **${progress.current_step}**`;
    const pause = paused_by === null ? '' : `, paused by ${paused_by}`;
    setCurrentDetails(`**${state}**: ${steps}${step}${pause}`);
  }
}
