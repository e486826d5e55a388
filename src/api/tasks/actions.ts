import { setTimeout as sleep } from 'node:timers/promises';
import type { RunView } from '../../domain/tasks/run-schemas.ts';
import type { RateLimiter } from '../../domain/common/rate-limiter.ts';
import { FIRST_QUESTION, openQuestionOf } from '../../domain/tasks/run-state.ts';
import { isTerminal } from '../../domain/tasks/task-states.ts';
import { findPlan } from '../../database/tasks/reruns.ts';
import type { RunWithView } from '../../database/tasks/run-views.ts';
import { findRun, type TaskRunRow } from '../../database/tasks/task-runs.ts';
import { runToStart, type RunToStart, type SignalOutcome } from '../../temporal/task-control.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { notFound, Problem } from '../http/problem.ts';
import { tooMany } from '../http/rate-limit.ts';
import type { RouteResponse } from '../http/route.ts';
import { detailOf, openRun, readRun } from './read.ts';

export type RunAction = 'pause' | 'continue' | 'cancel';

/** How long the response waits until the run shows the action, in milliseconds. */
const SHOWN_TIMEOUT_MS = 2_000;
const FIRST_POLL_MS = 5;
const MAX_POLL_MS = 200;

/** A request for an action. `question` is the id of the question that continuing answers; null if it is not named. */
export type ActionRequest = {
  id: string;
  reason: string | undefined;
} & ({ action: 'pause' | 'cancel' } | { action: 'continue'; question: string | null });

/** Returns true if the run shows the result of the action, or has ended. `question`: the open question before. */
const IS_SHOWN: Readonly<Record<RunAction, (view: RunView, question: string | null) => boolean>> = {
  pause: (view) => view.state === 'paused' || isTerminal(view.state),
  // The next question pauses the run again.
  continue: (view, question) =>
    view.state !== 'paused' || (view.question !== null && openQuestionOf(view) !== question),
  cancel: (view) => isTerminal(view.state),
};

/**
 * Signals an action to a run and returns the detail once it shows the result (docs/http-api.md).
 * @throws Problem `invalid_state` if the run has ended in another way, or another question is open; `rate_limited` if
 * the run is paused and continued too often
 */
export async function applyAction(
  deps: Dependencies,
  caller: Caller,
  request: ActionRequest,
  limiter: RateLimiter,
): Promise<RouteResponse> {
  const row = await openRun(deps, caller, request.id);
  if (request.action !== 'cancel') refuseTooManyPauses(limiter, row.id);
  if (isTerminal(row.state)) return await respondEnded(deps, request.action, await readRun(deps, row));
  const outcome = await signal(deps, caller, request, row);
  const question = openQuestionOf(row);
  const action = outcome === 'ended' ? 'cancel' : request.action;
  const reading = await waitUntilShown(deps, row, (view) => IS_SHOWN[action](view, question));
  // A run that ends right after it was continued counts as continued.
  const hasWorked = outcome === 'accepted' && request.action === 'continue';
  if (isTerminal(reading.view.state) && !hasWorked) return await respondEnded(deps, request.action, reading);
  if (outcome === 'ended') throw new Problem('invalid_state', 'The run has ended.');
  return { status: 202, body: await detailOf(deps, reading) };
}

/** @throws Problem `rate_limited`, since each pause and each continue makes the history of the workflow longer */
function refuseTooManyPauses(limiter: RateLimiter, id: string): void {
  const { granted, remaining } = limiter.take(id);
  if (!granted) throw tooMany('pauses of this run', remaining, limiter.rate.perSecond);
}

async function signal(
  deps: Dependencies,
  caller: Caller,
  request: ActionRequest,
  row: TaskRunRow,
): Promise<SignalOutcome> {
  const { reason } = request;
  const control = { by: caller.label, ...(reason === undefined ? {} : { reason }) };
  const unstarted = await unstartedOf(deps, row);
  if (request.action !== 'continue') return await deps.control[request.action](row.id, control, unstarted);
  const question = questionAnswered(openQuestionOf(row), request.question);
  return await deps.control.continue(row.id, { ...control, question }, unstarted);
}

/**
 * Returns the id of the question that a request answers, null if none is open. `open` is the open question, `named` the
 * one in the request, which need not name the first question of a run.
 * @throws Problem `invalid_state` if another question is open than the one that its sender has read
 */
function questionAnswered(open: string | null, named: string | null): string | null {
  if (named === open || (named === null && open === FIRST_QUESTION)) return open;
  const detail =
    open === null
      ? `The question ${named} is not open.`
      : named === null
        ? `The run has asked more than one question. Name the open one, \`question\` ${open}.`
        : `The question ${named} is not open. The open one is ${open}.`;
  throw new Problem('invalid_state', detail);
}

/** Returns what starts the run if its row shows nothing of a workflow: an action may come before the start. */
export async function unstartedOf({ database }: Dependencies, row: TaskRunRow): Promise<RunToStart | null> {
  if (row.last_seq > 0) return null;
  return runToStart(row, (await findPlan(database, row.id)) !== null);
}

/** Responds for an ended run: its state is either the requested one, or the action is rejected. */
async function respondEnded(
  deps: Dependencies,
  action: RunAction,
  reading: RunWithView,
): Promise<RouteResponse> {
  const { state } = reading.view;
  if (action === 'cancel' && state === 'cancelled')
    return { status: 202, body: await detailOf(deps, reading) };
  throw new Problem('invalid_state', `The run is ${state} and cannot be ${PAST[action]}.`);
}

const PAST: Readonly<Record<RunAction, string>> = {
  pause: 'paused',
  continue: 'continued',
  cancel: 'cancelled',
};

/** Polls until the run shows the action, at most {@link SHOWN_TIMEOUT_MS}. */
async function waitUntilShown(
  deps: Dependencies,
  row: TaskRunRow,
  isShown: (view: RunView) => boolean,
): Promise<RunWithView> {
  const until = performance.now() + SHOWN_TIMEOUT_MS;
  let reading = await readRun(deps, row);
  for (let pause = FIRST_POLL_MS; !isShown(reading.view) && performance.now() < until; pause *= 2) {
    await sleep(Math.min(pause, MAX_POLL_MS));
    const fresh = await findRun(deps.database, row.id);
    if (!fresh) throw notFound('task');
    reading = await readRun(deps, fresh);
  }
  return reading;
}
