import { CancellationScope, condition, isCancellation, setHandler } from '@temporalio/workflow';
import { continueSignal, pauseSignal } from '../../temporal/task-messages.ts';
import { until } from '../until.ts';

/** Measures the working time of an agent. The agent pauses with its run, and paused time does not count. */
export class Pace {
  #workedMs: number;
  #since: number | null;

  /** Continues from the time that an earlier execution measured. */
  constructor(carried: { workedMs: number; isPaused: boolean } | null) {
    this.#workedMs = carried?.workedMs ?? 0;
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

  unpaused(): Promise<void> {
    return until(() => !this.isPaused);
  }

  /**
   * Runs `work` within `limitMs` of working time.
   * @returns the result of `work`, or 'late' if the limit stopped it
   * @throws what `work` throws, and CancelledFailure if the surrounding scope is cancelled
   */
  async within<T>(limitMs: number, work: () => Promise<T>): Promise<T | 'late'> {
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
      if (left <= 0) return;
      await condition(() => this.isPaused, left);
    }
  }

  #pause(): void {
    this.#workedMs = this.workedMs();
    this.#since = null;
  }

  #continue(): void {
    this.#since ??= Date.now();
  }
}
