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
