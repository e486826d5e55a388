import { listRunIds } from '../../database/tasks/task-runs.ts';
import { chunksOf } from '../../domain/common/chunks.ts';
import { MAX_BULK_RUNS, MAX_CHECKED_RUNS } from '../../domain/common/limits.ts';
import { isTerminal, TASK_STATES, type TaskState } from '../../domain/tasks/task-states.ts';
import { callbackSecretContext } from '../../security/sealing.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { Problem } from '../http/problem.ts';
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
        await forEachMatch(deps, caller, { ...body, states: ACTIVE_STATES, before: null }, (id) =>
          cancelOne(deps, caller, id, body.reason),
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
          (id) => rerunOne(deps, caller, id, claim),
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
 * Does `act` for all matching runs in these states, and returns how many it changed.
 * @throws Problem `validation_failed` if more than {@link MAX_BULK_RUNS} match
 */
async function forEachMatch(
  deps: Dependencies,
  caller: Caller,
  { filter: given, dry_run: isDryRun, states, before }: Matches,
  act: (id: string) => Promise<boolean>,
): Promise<RouteResponse> {
  const filter = await filterOf(deps, caller, given);
  const wanted = {
    ...filter,
    states: (filter.states ?? states).filter((state) => states.includes(state)),
    ...(before && !(filter.createdBefore && filter.createdBefore < before) ? { createdBefore: before } : {}),
  };
  if (isDryRun) {
    const ids = await listRunIds(deps.database, wanted, MAX_CHECKED_RUNS);
    return { status: 202, body: { count: ids.length } };
  }
  const ids = await listRunIds(deps.database, wanted, MAX_BULK_RUNS + 1);
  if (ids.length > MAX_BULK_RUNS) throw tooManyMatches();
  let count = 0;
  for await (const chunk of chunksOf(ids, CONCURRENT_RUNS)) {
    const changed = await Promise.all(chunk.map(act));
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

/** Signals a cancel. Returns false if the run has ended or was erased. */
async function cancelOne(
  deps: Dependencies,
  caller: Caller,
  id: string,
  reason: string | undefined,
): Promise<boolean> {
  return await unlessGone(async () => {
    const row = await openRun(deps, caller, id);
    if (isTerminal(row.state)) return false;
    const request = { by: caller.label, ...(reason === undefined ? {} : { reason }) };
    return (await deps.control.cancel(id, request, await unstartedOf(deps, row))) === 'accepted';
  });
}

/**
 * Creates a new run. A repeat with the same idempotency key creates none. The response has no room for secrets, so the
 * new run keeps the one that its receiver knows. Returns false if the run was erased.
 */
async function rerunOne(
  deps: Dependencies,
  caller: Caller,
  id: string,
  claim: Claim | null,
): Promise<boolean> {
  return await unlessGone(async () => {
    const earlier = await openRun(deps, caller, id);
    const secret = deps.sealing.open(earlier.callback_secret, callbackSecretContext(id));
    const own = claim && { ...claim, key: `${claim.key}:${id}` };
    await createRerun(deps, caller, { earlier, fromStep: null, answer: null, secret, claim: own });
    return true;
  });
}

/** Returns false if the run was erased since it was found. */
async function unlessGone(act: () => Promise<boolean>): Promise<boolean> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return false;
    throw error;
  }
}
