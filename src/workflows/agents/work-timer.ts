import {
  CancellationScope,
  condition,
  isCancellation,
  patched,
  proxyActivities,
  setHandler,
} from '@temporalio/workflow';
import type { StepActivities } from '../../activities/agents/steps.ts';
import { continueSignal, pauseSignal } from '../../temporal/task-messages.ts';
import { until } from '../until.ts';

const { readTimeHeld } = proxyActivities<StepActivities>({
  heartbeatTimeout: '5 s',
  startToCloseTimeout: '365 d',
  retry: { initialInterval: '500 ms', maximumInterval: '5 s' },
});

/**
 * What the next execution of the same attempt continues with. `begunAt`: milliseconds since 1970. `heldMs`: time in
 * pauses made in the Web UI that `workedMs` does not contain any more.
 */
export type CarriedTimer = { workedMs: number; isPaused: boolean; begunAt?: number; heldMs?: number };

/**
 * Measures the working time of an agent. The agent pauses with its run, and paused time does not count. A pause made in
 * the Temporal Web UI does not reach the agent, since the workflow of its run does not execute. Its activities wait, and
 * that time is subtracted before the agent is late.
 */
export class WorkTimer {
  readonly #executionId: string;
  readonly #begunAt: number;
  #workedMs: number;
  #heldMs: number;
  #since: number | null;

  /** Continues from the time that an earlier execution measured. */
  constructor(executionId: string, carried: CarriedTimer | null) {
    this.#executionId = executionId;
    this.#begunAt = carried?.begunAt ?? Date.now();
    this.#workedMs = carried?.workedMs ?? 0;
    this.#heldMs = carried?.heldMs ?? 0;
    this.#since = carried?.isPaused ? null : Date.now();
    setHandler(pauseSignal, () => this.#pause(), { description: 'Pause before the next call' });
    setHandler(continueSignal, () => this.#continue(), { description: 'Continue' });
  }

  get isPaused(): boolean {
    return this.#since === null;
  }

  /** Returns the milliseconds of work so far, over all executions. */
  workedMs(): number {
    return this.#workedMs + (this.#since === null ? 0 : Date.now() - this.#since);
  }

  carried(): CarriedTimer {
    const { isPaused } = this;
    return { workedMs: this.workedMs(), isPaused, begunAt: this.#begunAt, heldMs: this.#heldMs };
  }

  unpaused(): Promise<void> {
    return until(() => !this.isPaused);
  }

  /**
   * Runs `work` within `limitMs` of working time.
   * @returns the result of `work`, or 'late' if the limit stopped it
   * @throws what `work` throws, and CancelledFailure if the surrounding scope is cancelled
   */
  async runWithin<T>(limitMs: number, work: () => Promise<T>): Promise<T | 'late'> {
    const scope = new CancellationScope();
    const clock = new CancellationScope();
    let isLate = false;
    const watch = clock.run(async () => {
      await this.#spend(limitMs);
      isLate = true;
      scope.cancel();
    });
    watch.catch(() => {});
    try {
      return await scope.run(work);
    } catch (error) {
      if (isLate && isCancellation(error) && !CancellationScope.current().consideredCancelled) return 'late';
      throw error;
    } finally {
      clock.cancel();
    }
  }

  /** Resolves after `limitMs` of working time. */
  async #spend(limitMs: number): Promise<void> {
    for (;;) {
      await this.unpaused();
      const left = limitMs - this.workedMs();
      if (left <= 0 && !(await this.#wasHeld())) return;
      if (left > 0) await condition(() => this.isPaused, left);
    }
  }

  /** Waits for the end of a pause made in the Web UI. Returns whether such pauses have taken further time. */
  async #wasHeld(): Promise<boolean> {
    if (!patched('time-held')) return false;
    const heldMs = await readTimeHeld({ executionId: this.#executionId, since: this.#begunAt });
    const moreMs = heldMs - this.#heldMs;
    this.#heldMs = heldMs;
    this.#workedMs -= moreMs;
    return moreMs > 0;
  }

  #pause(): void {
    this.#workedMs = this.workedMs();
    this.#since = null;
  }

  #continue(): void {
    this.#since ??= Date.now();
  }
}
