import type { Context, Next } from 'koa';
import { requestIdOf } from '../../security/request-id.ts';
import type { Caller } from './caller.ts';

/** The state of a request, shared by the middlewares; Koa's `context.state`. */
export type RequestState = {
  requestId: string;
  /** Set after authentication. */
  caller?: Caller;
  /** The path template; set when the route is known. */
  route?: string;
  /** The first call of a route within the request, for protocols that call routes: its path and the URL it created. */
  invoked?: { operation: string; path: string; made?: string };
  /** The span of the request, if traces are recorded. */
  trace?: RequestTrace;
};

/** `traceparent` as W3C Trace Context writes it. */
export type RequestTrace = { traceId: string; traceparent: string };

/** Uses the caller's `X-Request-Id` if it is short and plain, generates one otherwise, and returns it to the caller. */
export function requestId(context: Context, next: Next): Promise<void> {
  const id = requestIdOf(context.get('X-Request-Id'));
  (context.state as RequestState).requestId = id;
  context.set('X-Request-Id', id);
  return next();
}
