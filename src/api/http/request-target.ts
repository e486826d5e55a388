import type { Context, Next } from 'koa';
import { Problem, problemBody } from './problem.ts';
import type { RequestState } from './request-state.ts';

/**
 * Rejects a request whose target has no readable path, for example `http://[/`. Koa parses the target on each access to
 * `path` and throws, also in listeners where an error would end the process. So this is the first middleware that reads
 * it, and the request is not logged.
 */
export function requireReadableTarget(context: Context, next: Next): Promise<void> {
  return hasReadablePath(context) ? next() : refuse(context);
}

async function refuse(context: Context): Promise<void> {
  const { requestId } = context.state as RequestState;
  const problem = new Problem('bad_request', 'The request target is neither a path nor a valid URL.');
  context.status = problem.status;
  context.body = JSON.stringify(problemBody(problem, '', requestId));
  context.type = 'application/problem+json';
}

function hasReadablePath(context: Context): boolean {
  try {
    return typeof context.path === 'string';
  } catch {
    return false;
  }
}
