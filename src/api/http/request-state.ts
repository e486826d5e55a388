import { randomUUIDv7 } from 'node:crypto';
import type { Context, Next } from 'koa';
import type { Caller } from './caller.ts';

/** What the middlewares note about a request on its way; Koa's `context.state`. */
export type RequestState = {
  requestId: string;
  /** Who calls, once it is known. */
  caller?: Caller;
  /** The path of the route as it was declared, once it is known. */
  route?: string;
  /** The request's span, where traces are kept. */
  trace?: RequestTrace;
};

/** `traceparent` as W3C Trace Context writes it. */
export type RequestTrace = { traceId: string; traceparent: string };

const ACCEPTED = /^[A-Za-z0-9._~:/+=@-]{1,128}$/;

/** Accepts the caller's `X-Request-Id` where it is short and plain, makes one otherwise, and echoes it. */
export async function requestId(context: Context, next: Next): Promise<void> {
  const given = context.get('X-Request-Id');
  const id = ACCEPTED.test(given) ? given : randomUUIDv7();
  (context.state as RequestState).requestId = id;
  context.set('X-Request-Id', id);
  await next();
}
