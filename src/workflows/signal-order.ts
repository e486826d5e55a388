import { CancellationScope, condition, workflowInfo } from '@temporalio/workflow';
import type { Recorder } from './recorder.ts';
import { until } from './until.ts';

/** More than the number of consecutive waits between the end of a write and the next command of the workflow. */
const ROUNDS = 20;

/**
 * The signals of one workflow task. `turn` resolves when they are handled, one directly after another. `left` of them are
 * not handled yet.
 */
type Group = { task: number; turn: Promise<void>; hasTurn: boolean; left: number };

/**
 * Handles the signals of one workflow task. The writes that earlier tasks began, everything that follows from these
 * writes, and the signals of earlier tasks come first.
 *
 * If a query arrives while a local activity is in progress, Temporal's SDK may deliver the result of the activity with
 * the next workflow task, after the signals of that task. A replay delivers it with the task before. Without this
 * order, a replay would create the commands that follow from the result and from the signals in another order, and
 * would fail.
 */
export class SignalOrder {
  readonly #recorder: Recorder;
  readonly #isOn: boolean;
  #latest: Group | null = null;

  /** `isOn`: false in runs that were started by a version which handled all signals at once. */
  constructor(recorder: Recorder, isOn: boolean) {
    this.#recorder = recorder;
    this.#isOn = isOn;
  }

  /** Handles a signal in its turn. */
  async handle(handle: () => Promise<void> | void): Promise<void> {
    if (this.#isOn) {
      const group = this.#currentGroup();
      group.left += 1;
      await group.turn;
      group.left -= 1;
    }
    this.#recorder.addSignal();
    await handle();
  }

  /** Resolves when the signals that came with the start of the workflow are handled. */
  async started(): Promise<void> {
    await this.#latest?.turn;
  }

  /** Whether signals have arrived that are not handled yet. */
  get areWaiting(): boolean {
    return this.#latest !== null && this.#latest.left > 0;
  }

  /**
   * Resolves when all signals that have arrived are handled. What follows from a timer, an activity or a child workflow
   * waits for this: after a pause in the Web UI or an outage of the workers, these come with signals that were sent
   * before. What follows from a write must not wait: a replay finds the result of a write before the signals.
   */
  async settled(): Promise<void> {
    while (this.areWaiting) await this.#latest?.turn;
  }

  #currentGroup(): Group {
    const { historyLength: task } = workflowInfo();
    if (this.#latest?.task === task) return this.#latest;
    const before = this.#latest;
    const isBehind = before?.hasTurn === false || this.#recorder.isWritingSinceEarlier;
    const group = { task, hasTurn: false, turn: Promise.resolve(), left: 0 };
    // A signal whose wait was cancelled would end the workflow before its end is recorded.
    group.turn = CancellationScope.nonCancellable(() => this.#turnOf(group, isBehind ? { before } : null));
    this.#latest = group;
    return group;
  }

  async #turnOf(group: Group, behind: { before: Group | null } | null): Promise<void> {
    await behind?.before?.turn;
    await everythingElse();
    while (behind && this.#recorder.isWriting) {
      await until(() => !this.#recorder.isWriting);
      await everythingElse();
    }
    group.hasTurn = true;
  }
}

/** Resolves when the SDK has run everything that can run now. Each round lets it check all conditions once more. */
async function everythingElse(): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    let isTried = false;
    const tried = condition(() => isTried);
    isTried = true;
    await tried;
  }
}
