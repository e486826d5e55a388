import { listRunIds, type TaskRunRow } from '../../database/tasks/task-runs.ts';
import { chunksOf } from '../../domain/common/chunks.ts';
import { MAX_BULK_RUNS, MAX_CHECKED_RUNS } from '../../domain/common/limits.ts';
import { isTerminal, TASK_STATES, type TaskState } from '../../domain/tasks/task-states.ts';
import { callbackSecretContext } from '../../security/sealing.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { nullIfNotFound, Problem } from '../http/problem.ts';
import { route, type Claim, type Route, type RouteResponse } from '../http/route.ts';
import { unstartedOf } from './actions.ts';
import { filterOf } from './list.ts';
import { openRun } from './read.ts';
import { createRerun } from './rerun.ts';
import * as schema from './schema.ts';

const CONCURRENT_RUNS = 10;
/** How much of the rate limit a request takes, since it does the work of many. */
const COST = 50;

const ACTIVE_STATES = TASK_STATES.filter((state) => !isTerminal(state));
const ENDED_STATES = TASK_STATES.filter(isTerminal);

/** Returns the routes that change all runs that match a filter (docs/http-api.md). */
export function bulkRoutes(deps: Dependencies): Route[] {
  const common = {
    method: 'post' as const,
    tag: 'task',
    access: { kind: 'credential', scope: 'tasks:write' } as const,
    responses: { 202: { description: 'The number of runs', schema: schema.bulkResult } },
    problems: ['project_not_allowed', 'unavailable'] as const,
    cost: () => COST,
  };
  return [
    route({
      ...common,
      path: '/api/v1/tasks/cancel',
      operationId: 'cancelTasks',
      summary: 'Cancel all active tasks that match a filter',
      description: `Cancels up to ${MAX_BULK_RUNS} runs. If more match, none is cancelled.`,
      body: schema.bulkCancel,
      handle: async ({ caller, body }) =>
        await forEachMatch(deps, caller, { ...body, states: ACTIVE_STATES, before: null }, (row) =>
          cancelOne(deps, caller, row, body.reason),
        ),
    }),
    route({
      ...common,
      path: '/api/v1/tasks/rerun',
      operationId: 'rerunTasks',
      summary: 'Rerun all ended tasks that match a filter',
      description: `Creates a new run for each of up to ${MAX_BULK_RUNS} runs, which starts from the first step that is not completed. If more match, none is created. The new runs keep the callback secrets of the earlier ones.`,
      body: schema.bulkRerun,
      idempotent: true,
      handle: async ({ caller, body, claim }) =>
        // A repeat must not find the runs that the first request has created.
        await forEachMatch(
          deps,
          caller,
          { ...body, states: ENDED_STATES, before: claim?.claimedAt ?? null },
          (row) => rerunOne(deps, caller, row, claim),
        ),
    }),
  ];
}

type Matches = {
  filter: schema.TaskFilter;
  dry_run: boolean;
  states: readonly TaskState[];
  /** Only runs that were submitted before this time; null: all. */
  before: Date | null;
};

/**
 * Does `act` for all matching runs in these states, and returns how many it changed. Runs that were erased since they were
 * found do not count.
 * @throws Problem `validation_failed` if more than {@link MAX_BULK_RUNS} match
 */
async function forEachMatch(
  deps: Dependencies,
  caller: Caller,
  { filter: given, dry_run: isDryRun, states, before }: Matches,
  act: (row: TaskRunRow) => Promise<boolean>,
): Promise<RouteResponse> {
  const filter = await filterOf(deps, caller, given);
  const createdBefore = earlierOf(filter.createdBefore, before);
  const wanted = {
    ...filter,
    states: (filter.states ?? states).filter((state) => states.includes(state)),
    ...(createdBefore ? { createdBefore } : {}),
  };
  if (isDryRun) {
    const ids = await listRunIds(deps.database, wanted, MAX_CHECKED_RUNS);
    return { status: 202, body: { count: ids.length } };
  }
  const ids = await listRunIds(deps.database, wanted, MAX_BULK_RUNS + 1);
  if (ids.length > MAX_BULK_RUNS) throw tooManyMatches();
  let count = 0;
  for await (const chunk of chunksOf(ids, CONCURRENT_RUNS)) {
    const changed = await Promise.all(
      chunk.map((id) => nullIfNotFound(async () => await act(await openRun(deps, caller, id)))),
    );
    count += changed.filter(Boolean).length;
  }
  return { status: 202, body: { count } };
}

function tooManyMatches(): Problem {
  const message = `must match at most ${MAX_BULK_RUNS} runs. Add \`created_after\` or \`created_before\``;
  return new Problem('validation_failed', `The filter matches more than ${MAX_BULK_RUNS} runs.`, {
    errors: [{ pointer: '/filter', code: 'too_large', message }],
  });
}

/** Returns the earlier one of two times, of which none may be given. */
function earlierOf(one: Date | undefined, other: Date | null): Date | null {
  return one && (other === null || one < other) ? one : other;
}

/** Signals a cancel. Returns false if the run has ended. */
async function cancelOne(
  deps: Dependencies,
  caller: Caller,
  row: TaskRunRow,
  reason: string | undefined,
): Promise<boolean> {
  if (isTerminal(row.state)) return false;
  const request = { by: caller.label, ...(reason === undefined ? {} : { reason }) };
  return (await deps.control.cancel(row.id, request, await unstartedOf(deps, row))) === 'accepted';
}

/**
 * Creates a new run. A repeat with the same idempotency key creates none. The response has no room for secrets, so the
 * new run keeps the one that its receiver knows.
 */
async function rerunOne(
  deps: Dependencies,
  caller: Caller,
  earlier: TaskRunRow,
  claim: Claim | null,
): Promise<boolean> {
  const secret = deps.sealing.open(earlier.callback_secret, callbackSecretContext(earlier.id));
  const own = claim && { ...claim, key: `${claim.key}:${earlier.id}` };
  await createRerun(deps, caller, { earlier, fromStep: null, answer: null, secret, claim: own });
  return true;
}
