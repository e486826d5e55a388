import { setTimeout as sleep } from 'node:timers/promises';
import type { RunView } from '../../domain/tasks/task-run.ts';
import { isTerminal } from '../../domain/tasks/task-states.ts';
import { findRun, type RunWithView, type TaskRunRow } from '../../database/tasks/task-runs.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { notFound, Problem } from '../http/problem.ts';
import type { Answer } from '../http/route.ts';
import { detailOf, openRun, readRun } from './read.ts';

export type Steering = 'pause' | 'continue' | 'cancel';

/** How long the answer waits until the run shows the wish, in milliseconds. */
const SHOWN_WITHIN_MS = 2_000;
const FIRST_LOOK_MS = 5;
const LAST_LOOK_MS = 200;

/** True where a run looks as wished, or has ended, which no wish changes. */
const SHOWS: Readonly<Record<Steering, (view: RunView) => boolean>> = {
  pause: (view) => view.state === 'paused' || isTerminal(view.state),
  continue: (view) => view.state !== 'paused',
  cancel: (view) => isTerminal(view.state),
};

/**
 * Signals a wish to a run and answers with its detail once it shows (docs/http-api.md, the table of wishes).
 * @throws Problem `invalid_state` where the run has ended otherwise
 */
export async function steerTask(
  deps: Dependencies,
  caller: Caller,
  wish: { id: string; steering: Steering; reason: string | undefined },
): Promise<Answer> {
  const row = await openRun(deps, caller, wish.id);
  if (isTerminal(row.state)) return await answerEnded(deps, wish.steering, await readRun(deps, row));
  const outcome = await deps.control[wish.steering](row.id, {
    by: caller.label,
    ...(wish.reason === undefined ? {} : { reason: wish.reason }),
  });
  const reading = await whenShown(deps, row, outcome === 'ended' ? 'cancel' : wish.steering);
  // A run that ends right after it was continued was continued.
  const hasWorked = outcome === 'accepted' && wish.steering === 'continue';
  if (isTerminal(reading.view.state) && !hasWorked) return await answerEnded(deps, wish.steering, reading);
  if (outcome === 'ended') throw new Problem('invalid_state', 'The run has ended.');
  return { status: 202, body: await detailOf(deps, reading) };
}

/** An ended run stays as it ended: that is what was wished, or it is refused. */
async function answerEnded(deps: Dependencies, steering: Steering, reading: RunWithView): Promise<Answer> {
  const { state } = reading.view;
  if (steering === 'cancel' && state === 'cancelled')
    return { status: 202, body: await detailOf(deps, reading) };
  throw new Problem('invalid_state', `The run is ${state} and cannot be ${PAST[steering]}.`);
}

const PAST: Readonly<Record<Steering, string>> = {
  pause: 'paused',
  continue: 'continued',
  cancel: 'cancelled',
};

/** Looks until the run shows the wish, at most {@link SHOWN_WITHIN_MS}. */
async function whenShown(deps: Dependencies, row: TaskRunRow, steering: Steering): Promise<RunWithView> {
  const until = performance.now() + SHOWN_WITHIN_MS;
  let reading = await readRun(deps, row);
  for (let pause = FIRST_LOOK_MS; !SHOWS[steering](reading.view) && performance.now() < until; pause *= 2) {
    await sleep(Math.min(pause, LAST_LOOK_MS));
    const fresh = await findRun(deps.database, row.id);
    if (!fresh) throw notFound('task');
    reading = await readRun(deps, fresh);
  }
  return reading;
}
