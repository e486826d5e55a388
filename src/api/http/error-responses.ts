import type { Context, Next } from 'koa';
import type { Logger } from 'pino';
import { isDatabaseOutage } from '../../database/common/outage.ts';
import { ProviderUnreachable } from '../../security/tokens.ts';
import { EngineUnavailable } from '../../temporal/task-control.ts';
import { Problem, problemBody, unavailable } from './problem.ts';
import type { RequestState } from './request-state.ts';

/** Turns errors into responses. Details of unexpected errors are logged and not sent. */
export function errorResponses(log: Logger) {
  return async function respondToErrors(context: Context, next: Next): Promise<void> {
    const { requestId } = context.state as RequestState;
    try {
      await next();
    } catch (error) {
      const problem = asProblem(error);
      logFailure(log, problem, requestId);
      context.status = problem.status;
      context.set(problem.headers);
      context.set('Cache-Control', 'no-store');
      context.body = JSON.stringify(problemBody(problem, context.path, requestId));
      context.type = 'application/problem+json';
    }
  };
}

/** Logs a problem that the service is responsible for. */
export function logFailure(log: Logger, problem: Problem, requestId: string): void {
  if (problem.status < 500) return;
  log.error({ request_id: requestId, err: problem.cause ?? problem }, 'request failed');
}

/** Returns the problem that an error is answered with. */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof EngineUnavailable) return unavailable('Temporal', error);
  if (error instanceof ProviderUnreachable) return unavailable('The identity provider', error);
  if (isDatabaseOutage(error)) return unavailable('PostgreSQL', error);
  return new Problem('internal_error', 'The server logged the error with this request id.', { cause: error });
}
