import { PROGRESS_EVENTS } from '../domain/common/limits.ts';

/** Accepts frequent progress reports of one step, and writes only as many as the feed may contain. */
export type ProgressMerger<Report> = {
  /** Returns immediately. If reports come too fast, the latest replaces the previous one. */
  report(report: Report): void;
  /**
   * Resolves when the latest report is written. Called before the step ends.
   * @throws what `write` throws
   */
  flush(): Promise<void>;
  /** Stops without writing what is pending. */
  drop(): Promise<void>;
};

/**
 * Creates a merger with at most one write at a time. Reports are written separately up to the rate {@link
 * PROGRESS_EVENTS}. Faster ones are merged before they are written, and so before they get a number. A failed write is
 * repeated with the reports that came since.
 */
export function createProgressMerger<Report>(
  write: (reports: Report[]) => Promise<void>,
  clock: () => number = () => performance.now(),
): ProgressMerger<Report> {
  const { perSecond, burst } = PROGRESS_EVENTS;
  let tokens: number = burst;
  let countedAt = clock();
  let waiting: Report[] = [];
  /** Whether the last waiting report has no token yet. */
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

  /** Writes waiting reports as soon as the rate allows. */
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
