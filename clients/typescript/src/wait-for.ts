import { MAX_WAIT_SECONDS, TERMINAL_STATES } from './vocabulary.ts';
import { pathOf, type Http } from './http.ts';
import { BatonTimeout } from './problem.ts';
import { createRetryWindow } from './retry-window.ts';
import { pause } from './time.ts';
import type { CallOptions, Task, TaskState, TerminalState } from './types.ts';

/**
 * The condition to wait for. `ended`: the task has ended. `settled`: the task has ended, and its callback was delivered
 * or given up. A state, or one of several states. A function that returns true for the awaited task.
 */
export type Until = 'ended' | 'settled' | TaskState | readonly TaskState[] | ((task: Task) => boolean);

export type WaitOptions = CallOptions & {
  /** Default: `ended`. */
  until?: Until | undefined;
  /** The maximum time to wait, in milliseconds. Default: no limit. */
  timeoutMs?: number | undefined;
  /** How long an unreachable service is retried, in milliseconds. Default: one minute. */
  patienceMs?: number | undefined;
};

/** A task can enter and leave a state between two requests. Short waits make it less likely to miss the state. */
const SHORT_WAIT_SECONDS = 2;
/** The delay between two requests for an ended task, for which the service does not hold a request, and for other tasks. */
const ENDED_DELAY_MS = 500;
const DELAY_MS = 50;

/** Waits for a condition with `Prefer: wait` (RFC 7240, section 4.3). Returns the task that meets it. */
export async function waitForTask(http: Http, id: string, options: WaitOptions): Promise<Task> {
  const { until = 'ended', timeoutMs = Number.POSITIVE_INFINITY, patienceMs, signal } = options;
  const isMet = conditionOf(until);
  const deadline = Date.now() + timeoutMs;
  const retryWindow = createRetryWindow(http.random, patienceMs);
  // The first request does not wait, because the task may already meet the condition.
  for (let waitSeconds = 0; ; ) {
    let delayMs: number;
    try {
      const task = await fetchTask(http, id, { waitSeconds, signal });
      retryWindow.reset();
      if (isMet(task)) return task;
      if (isEnded(task.state) && isStateCondition(until)) {
        throw new BatonTimeout(
          `The task ${id} has ended with state ${task.state}. The awaited state cannot occur any more.`,
        );
      }
      delayMs = isEnded(task.state) ? ENDED_DELAY_MS : DELAY_MS;
    } catch (error) {
      signal?.throwIfAborted();
      delayMs = retryWindow.delayAfter(error);
    }
    await pause(Math.max(0, Math.min(delayMs, deadline - Date.now())), signal);
    const remainingMs = deadline - Date.now();
    if (remainingMs <= 0) {
      throw new BatonTimeout(`The task ${id} did not meet the awaited condition within ${timeoutMs} ms.`);
    }
    const maxSeconds = until === 'ended' || until === 'settled' ? MAX_WAIT_SECONDS : SHORT_WAIT_SECONDS;
    waitSeconds = Math.max(1, Math.min(maxSeconds, Math.floor(remainingMs / 1_000)));
  }
}

function fetchTask(
  http: Http,
  id: string,
  { waitSeconds, signal }: { waitSeconds: number; signal: AbortSignal | undefined },
): Promise<Task> {
  return http.json<Task>({
    method: 'GET',
    path: pathOf('tasks', id),
    ...(waitSeconds === 0
      ? {}
      : { headers: { Prefer: `wait=${waitSeconds}` }, extraMs: waitSeconds * 1_000 }),
    retries: 0,
    signal,
  });
}

function conditionOf(until: Until): (task: Task) => boolean {
  if (typeof until === 'function') return until;
  if (until === 'ended') return (task) => isEnded(task.state);
  if (until === 'settled') return isSettled;
  const states: readonly TaskState[] = typeof until === 'string' ? [until] : until;
  return (task) => states.includes(task.state);
}

/** Returns true if only the state decides. An ended task that does not meet such a condition never will. */
function isStateCondition(until: Until): boolean {
  return typeof until !== 'function' && until !== 'settled';
}

/** Returns true for the states that a task never leaves. */
export function isEnded(state: TaskState): state is TerminalState {
  return (TERMINAL_STATES as readonly TaskState[]).includes(state);
}

/** Returns true if the task has ended and its callback, if any, was delivered or given up. */
export function isSettled(task: Task): boolean {
  return isEnded(task.state) && task.callback.status !== 'pending';
}
