import { MAX_WAIT_SECONDS } from '../../domain/common/limits.ts';
import type { TaskState } from '../../domain/tasks/task-states.ts';
import { isTerminal } from '../../domain/tasks/task-states.ts';
import { findRun, type RunWithView } from '../../database/tasks/task-runs.ts';
import type { Dependencies } from '../dependencies.ts';
import { readRun } from './read.ts';

/** The seconds of `Prefer: wait=N` (RFC 7240, section 4.3), at most 60; null where it is not asked for, or no number. */
export function preferredWait(prefer: string | undefined): number | null {
  for (const preference of (prefer ?? '').split(',')) {
    const seconds = /^\s*wait\s*=\s*"?(\d{1,6})"?\s*(;.*)?$/i.exec(preference)?.[1];
    if (seconds !== undefined) return Math.min(Number(seconds), MAX_WAIT_SECONDS);
  }
  return null;
}

/** Reads a run once its state is another than at first, it has ended, the time is over or the caller is gone. */
export async function readWhenChanged(
  deps: Dependencies,
  first: RunWithView,
  { seconds, signal }: { seconds: number; signal: AbortSignal },
): Promise<RunWithView> {
  const until = performance.now() + seconds * 1_000;
  const before: TaskState = first.view.state;
  const bell = createBell(deps, first.row.id, signal);
  try {
    let reading = first;
    while (!isTerminal(before)) {
      // Also before the first ring: the run may have changed since `first` was read and before the bell was there.
      const row = await findRun(deps.database, first.row.id);
      if (!row) break;
      // A change is stored before the workflow shows it, so the row is enough to see one.
      reading = row.state === before ? { row, view: reading.view } : await readRun(deps, row);
      const left = until - performance.now();
      if (reading.view.state !== before || left <= 0 || signal.aborted) break;
      await bell.rings(left);
    }
    return reading.view.state === before ? await readLast(deps, reading) : reading;
  } finally {
    bell.close();
  }
}

async function readLast(deps: Dependencies, reading: RunWithView): Promise<RunWithView> {
  const row = await findRun(deps.database, reading.row.id);
  return row ? await readRun(deps, row) : reading;
}

/** Rings when a run's feed grows. A ring that nobody waits for is kept for the next who does. */
export function createBell(
  deps: Pick<Dependencies, 'notifications'>,
  executionId: string,
  signal: AbortSignal,
) {
  let rung = false;
  let wake: () => void = () => {};
  const ring = () => {
    rung = true;
    wake();
  };
  const unsubscribe = deps.notifications.subscribe('feed', executionId, ring);
  signal.addEventListener('abort', ring, { once: true });
  return {
    /** Resolves at the next ring, or after `ms`. */
    async rings(ms: number): Promise<void> {
      if (!rung && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const timer = setTimeout(resolve, ms);
        wake = resolve;
        await promise;
        clearTimeout(timer);
        wake = () => {};
      }
      rung = false;
    },
    close(): void {
      unsubscribe();
      signal.removeEventListener('abort', ring);
    },
  };
}
