import { randomUUIDv7 } from 'node:crypto';
import type { Context, Next } from 'koa';
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

const ACCEPTED = /^[A-Za-z0-9._~:/+=@-]{1,128}$/;

/** Uses the caller's `X-Request-Id` if it is short and plain, generates one otherwise, and returns it. */
export function requestId(context: Context, next: Next): Promise<void> {
  const given = context.get('X-Request-Id');
  const id = ACCEPTED.test(given) ? given : randomUUIDv7();
  (context.state as RequestState).requestId = id;
  context.set('X-Request-Id', id);
  return next();
}
