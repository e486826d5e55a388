import { setTimeout as sleep } from 'node:timers/promises';
import type { RunView } from '../../domain/tasks/run-schemas.ts';
import { isTerminal } from '../../domain/tasks/task-states.ts';
import { findPlan } from '../../database/tasks/reruns.ts';
import { findRun, type RunWithView, type TaskRunRow } from '../../database/tasks/task-runs.ts';
import { runToStart, type RunToStart } from '../../temporal/task-control.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { notFound, Problem } from '../http/problem.ts';
import type { RouteResponse } from '../http/route.ts';
import { detailOf, openRun, readRun } from './read.ts';

export type RunAction = 'pause' | 'continue' | 'cancel';

/** How long the response waits until the run shows the action, in milliseconds. */
const SHOWN_TIMEOUT_MS = 2_000;
const FIRST_POLL_MS = 5;
const MAX_POLL_MS = 200;

/** Returns true if the run shows the result of the action, or has ended. */
const IS_SHOWN: Readonly<Record<RunAction, (view: RunView) => boolean>> = {
  pause: (view) => view.state === 'paused' || isTerminal(view.state),
  continue: (view) => view.state !== 'paused',
  cancel: (view) => isTerminal(view.state),
};

/**
 * Signals an action to a run and returns the detail once it shows the result (docs/http-api.md).
 * @throws Problem `invalid_state` if the run has ended in another way
 */
export async function applyAction(
  deps: Dependencies,
  caller: Caller,
  request: { id: string; action: RunAction; reason: string | undefined },
): Promise<RouteResponse> {
  const row = await openRun(deps, caller, request.id);
  if (isTerminal(row.state)) return await respondEnded(deps, request.action, await readRun(deps, row));
  const control = { by: caller.label, ...(request.reason === undefined ? {} : { reason: request.reason }) };
  const outcome = await deps.control[request.action](row.id, control, await unstartedOf(deps, row));
  const reading = await waitUntilShown(deps, row, outcome === 'ended' ? 'cancel' : request.action);
  // A run that ends right after it was continued counts as continued.
  const hasWorked = outcome === 'accepted' && request.action === 'continue';
  if (isTerminal(reading.view.state) && !hasWorked) return await respondEnded(deps, request.action, reading);
  if (outcome === 'ended') throw new Problem('invalid_state', 'The run has ended.');
  return { status: 202, body: await detailOf(deps, reading) };
}

/** Returns what starts the run if its row shows nothing of a workflow: an action may come before the start. */
async function unstartedOf({ database }: Dependencies, row: TaskRunRow): Promise<RunToStart | null> {
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
async function waitUntilShown(deps: Dependencies, row: TaskRunRow, action: RunAction): Promise<RunWithView> {
  const until = performance.now() + SHOWN_TIMEOUT_MS;
  let reading = await readRun(deps, row);
  for (let pause = FIRST_POLL_MS; !IS_SHOWN[action](reading.view) && performance.now() < until; pause *= 2) {
    await sleep(Math.min(pause, MAX_POLL_MS));
    const fresh = await findRun(deps.database, row.id);
    if (!fresh) throw notFound('task');
    reading = await readRun(deps, fresh);
  }
  return reading;
}
