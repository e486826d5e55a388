import { randomUUIDv7 } from 'node:crypto';
import { requestCallbackRetry } from '../../database/tasks/callbacks.ts';
import { callbackStatusOf } from '../../domain/tasks/callback.ts';
import type { RateLimiter } from '../../domain/common/rate-limiter.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { Problem } from '../http/problem.ts';
import { tooMany } from '../http/rate-limit.ts';
import type { RouteResponse } from '../http/route.ts';
import { detailOf, openRun, readRun } from './read.ts';

/**
 * Requests one more attempt of a failed callback and returns 202. If Temporal does not start the attempt now, the
 * reconciler does.
 * @throws Problem `invalid_state` if the callback has not failed, `rate_limited` if it is retried too often
 */
export async function retryCallback(
  deps: Dependencies,
  caller: Caller,
  id: string,
  limiter: RateLimiter,
): Promise<RouteResponse> {
  const { database, control, clock, log } = deps;
  const { id: executionId } = await openRun(deps, caller, id);
  const { granted, remaining } = limiter.take(executionId);
  if (!granted) throw tooMany('callback retries of this run', remaining, limiter.rate.perSecond);
  const retry = { executionId, retryId: randomUUIDv7() };
  const { workspaceId, actor } = caller;
  const isRequested = await requestCallbackRetry(database, { ...retry, workspaceId, actor, now: clock() });
  // The run was erased, or another request came first.
  const row = await openRun(deps, caller, id);
  if (!isRequested) throw new Problem('invalid_state', reasonToRefuse(callbackStatusOf(row)));
  await control.retryCallback(retry).catch((error: unknown) => {
    log.warn({ err: error, execution_id: executionId }, 'starting a callback retry failed; will retry');
  });
  return { status: 202, body: await detailOf(deps, await readRun(deps, row)) };
}

function reasonToRefuse(status: ReturnType<typeof callbackStatusOf>): string {
  if (status === 'none') return 'The run has no callback.';
  return `The callback is ${status}. Only a failed callback can be retried.`;
}
