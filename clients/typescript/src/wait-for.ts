import { MAX_WAIT_SECONDS, TERMINAL_STATES } from './vocabulary.ts';
import { pathOf, type Http } from './http.ts';
import { BatonTimeout } from './problem.ts';
import { createPatience } from './patience.ts';
import { pause } from './time.ts';
import type { CallOptions, Task, TaskState, TerminalState } from './types.ts';

/**
 * What is waited for: `ended`; `settled`, which is ended with nothing more to come of the callback; a state or one of
 * several; or whatever a function says of the task.
 */
export type Until = 'ended' | 'settled' | TaskState | readonly TaskState[] | ((task: Task) => boolean);

export type WaitOptions = CallOptions & {
  /** `ended` unless given. */
  until?: Until | undefined;
  /** Without it the wait has no end of its own. */
  timeoutMs?: number | undefined;
  /** For how long a service that is away is waited for; a minute unless given. */
  patienceMs?: number | undefined;
};

/** A state may come and go between two requests, so waiting for one that is not the last takes short looks. */
const SHORT_LOOK_SECONDS = 2;
/** Between two looks: at an ended task, which no request waits for, and otherwise. */
const LOOK_AGAIN_MS = 500;
const SOON_MS = 50;

/** Waits by `Prefer: wait` (RFC 7240, section 4.3). */
export async function waitForTask(http: Http, id: string, options: WaitOptions): Promise<Task> {
  const { until = 'ended', timeoutMs = Number.POSITIVE_INFINITY, patienceMs, signal } = options;
  const isThere = conditionOf(until);
  const end = Date.now() + timeoutMs;
  const patience = createPatience(http.random, patienceMs);
  // The first request does not wait: things may be as they should already.
  for (let seconds = 0; ; ) {
    let wait: number;
    try {
      const task = await read(http, id, { seconds, signal });
      patience.restored();
      if (isThere(task)) return task;
      if (isEnded(task.state) && isOfStates(until)) {
        throw new BatonTimeout(
          `The task ${id} has ended ${task.state}; what is waited for can't come any more.`,
        );
      }
      wait = isEnded(task.state) ? LOOK_AGAIN_MS : SOON_MS;
    } catch (error) {
      signal?.throwIfAborted();
      wait = patience.afterFailure(error);
    }
    await pause(Math.max(0, Math.min(wait, end - Date.now())), signal);
    const leftMs = end - Date.now();
    if (leftMs <= 0) throw new BatonTimeout(`The task ${id} is not as wanted after ${timeoutMs} ms.`);
    const most = until === 'ended' || until === 'settled' ? MAX_WAIT_SECONDS : SHORT_LOOK_SECONDS;
    seconds = Math.max(1, Math.min(most, Math.floor(leftMs / 1_000)));
  }
}

function read(
  http: Http,
  id: string,
  { seconds, signal }: { seconds: number; signal: AbortSignal | undefined },
): Promise<Task> {
  return http.json<Task>({
    method: 'GET',
    path: pathOf('tasks', id),
    ...(seconds === 0 ? {} : { headers: { Prefer: `wait=${seconds}` }, extraMs: seconds * 1_000 }),
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

/** A state that a task is not in when it has ended never comes. */
function isOfStates(until: Until): boolean {
  return typeof until !== 'function' && until !== 'settled';
}

/** True for the states that a task never leaves. */
export function isEnded(state: TaskState): state is TerminalState {
  return (TERMINAL_STATES as readonly TaskState[]).includes(state);
}

/** True where the task has ended and its callback, if it has one, was delivered or given up. */
export function isSettled(task: Task): boolean {
  return isEnded(task.state) && task.callback.status !== 'pending';
}
