import { MAX_WAIT_SECONDS } from '../../domain/common/limits.ts';
import type { RunView } from '../../domain/tasks/run-schemas.ts';
import { openQuestionOf } from '../../domain/tasks/run-state.ts';
import { isTerminal } from '../../domain/tasks/task-states.ts';
import type { RunWithView } from '../../database/tasks/run-views.ts';
import { findRun, type RunStatus } from '../../database/tasks/task-runs.ts';
import type { Dependencies } from '../dependencies.ts';
import { readRun } from './read.ts';

/** The preference `wait` of a request for a run. */
export type PreferredWait = {
  /** At most 60. */
  seconds: number;
  /** The state that the caller knows: a run in another one is not waited for. Null if the caller sent none. */
  state: string | null;
};

/**
 * Returns the preference of `Prefer: wait=N` or `wait=N; state=S` (RFC 7240, section 4.3); null if it is missing or not a
 * number.
 */
export function preferredWait(prefer: string | undefined): PreferredWait | null {
  for (const preference of (prefer ?? '').split(',')) {
    const [wait = '', ...parameters] = preference.split(';');
    const seconds = /^\s*wait\s*=\s*"?(\d{1,6})"?\s*$/i.exec(wait)?.[1];
    if (seconds === undefined) continue;
    const states = parameters.map((text) => /^\s*state\s*=\s*"?(\w+)"?\s*$/i.exec(text)?.[1]);
    return {
      seconds: Math.min(Number(seconds), MAX_WAIT_SECONDS),
      state: states.find((state) => state !== undefined) ?? null,
    };
  }
  return null;
}

/**
 * Returns the run once its state or its open question differs from the first, it has ended, the time is over or the caller
 * is gone. The next question follows an answer without a visible change of the state.
 */
export async function readWhenChanged(
  deps: Dependencies,
  first: RunWithView,
  { seconds, signal }: { seconds: number; signal: AbortSignal },
): Promise<RunWithView> {
  const until = performance.now() + seconds * 1_000;
  const before = first.view;
  const isSame = (run: RunView | RunStatus) =>
    run.state === before.state && openQuestionOf(run) === openQuestionOf(before);
  const feedSignal = createFeedSignal(deps, first.row.id, signal);
  try {
    while (!isTerminal(before.state)) {
      // Also read before the first signal: the run may have changed between `first` and the subscription. A change is stored
      // before the workflow shows it, so reading the row is enough.
      const status = await deps.readRunStatus(first.row.id);
      if (status === null) break;
      const reading = isSame(status) ? first : await readAgain(deps, first);
      if (!isSame(reading.view)) return reading;
      const left = until - performance.now();
      if (left <= 0 || signal.aborted) break;
      await feedSignal.wait(left);
    }
    return await readAgain(deps, first);
  } finally {
    feedSignal.close();
  }
}

async function readAgain(deps: Dependencies, reading: RunWithView): Promise<RunWithView> {
  const row = await findRun(deps.database, reading.row.id);
  return row ? await readRun(deps, row) : reading;
}

/** Signals when a run's feed grows. A signal that nobody waits for is kept for the next `wait`. */
export function createFeedSignal(
  deps: Pick<Dependencies, 'notifications'>,
  executionId: string,
  signal: AbortSignal,
) {
  let isSignalled = false;
  let wake: () => void = () => {};
  const signalChange = () => {
    isSignalled = true;
    wake();
  };
  const unsubscribe = deps.notifications.subscribe('feed', executionId, signalChange);
  signal.addEventListener('abort', signalChange, { once: true });
  return {
    /** Resolves at the next signal, or after `ms`. */
    async wait(ms: number): Promise<void> {
      if (!isSignalled && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const timer = setTimeout(resolve, ms);
        wake = resolve;
        await promise;
        clearTimeout(timer);
        wake = () => {};
      }
      isSignalled = false;
    },
    /** Signals although the feed may not have grown. */
    wake: signalChange,
    close(): void {
      unsubscribe();
      signal.removeEventListener('abort', signalChange);
    },
  };
}
