import { PROGRESS_EVENTS } from '../domain/common/limits.ts';

/** Takes reports of one step's progress as fast as they come, and has only as many written as the feed is to hold. */
export type ProgressMerger<Report> = {
  /** Never waits. Of reports that come too fast, the latest takes the place of the one before. */
  report(report: Report): void;
  /**
   * Resolves when the latest report is written: called before the step ends.
   * @throws what `write` throws
   */
  flush(): Promise<void>;
  /** Ends without writing what still waits. */
  drop(): Promise<void>;
};

/**
 * At most one write is under way. Each report is written on its own as long as there are few; beyond
 * {@link PROGRESS_EVENTS} they are merged before they are written, and so before they are given a number. A write that
 * fails is tried again with what has come since.
 */
export function createProgressMerger<Report>(
  write: (reports: Report[]) => Promise<void>,
  clock: () => number = () => performance.now(),
): ProgressMerger<Report> {
  const { perSecond, burst } = PROGRESS_EVENTS;
  let tokens: number = burst;
  let countedAt = clock();
  let waiting: Report[] = [];
  /** True where the last of the waiting ones has no place yet. */
  let isOverLimit = false;
  let writing: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;

  function takeToken(): boolean {
    const now = clock();
    tokens = Math.min(burst, tokens + ((now - countedAt) / 1_000) * perSecond);
    countedAt = now;
    if (tokens < 1) return false;
    tokens -= 1;
    return true;
  }

  /** Writes what waits as soon as it may. */
  function proceed(): void {
    if (writing || timer || isOver || waiting.length === 0) return;
    if (isOverLimit && !takeToken()) {
      timer = setTimeout(onTime, ((1 - tokens) / perSecond) * 1_000 + 1).unref();
      return;
    }
    void writeWaiting().catch(() => {
      if (!isOver) timer = setTimeout(onTime, 1_000 / perSecond).unref();
    });
  }

  function onTime(): void {
    timer = undefined;
    proceed();
  }

  async function writeWaiting(): Promise<void> {
    const taken = waiting;
    waiting = [];
    isOverLimit = false;
    const { promise, resolve } = Promise.withResolvers<void>();
    writing = promise;
    try {
      await write(taken);
    } catch (error) {
      waiting = [...taken, ...waiting].slice(-burst);
      throw error;
    } finally {
      writing = null;
      resolve();
    }
    proceed();
  }

  async function stop(): Promise<void> {
    isOver = true;
    clearTimeout(timer);
    await writing;
  }

  return {
    report(report) {
      if (isOver) return;
      if (isOverLimit) waiting[waiting.length - 1] = report;
      else if (takeToken()) waiting.push(report);
      else if (waiting.length > 0) waiting[waiting.length - 1] = report;
      else {
        waiting.push(report);
        isOverLimit = true;
      }
      proceed();
    },
    async flush() {
      await stop();
      if (waiting.length > 0) await writeWaiting();
    },
    drop: stop,
  };
}
