import type { Context, Next } from 'koa';
import type { Tracing } from '../../telemetry/tracing.ts';
import type { RequestState, RequestTrace } from './request-state.ts';

/** The result of a request; `route` is the path template, null if no route matched. */
type RequestOutcome = { route: string | null; status: number };

/** Handles a request in a trace: the caller's if it sends one (W3C Trace Context). */
export type TraceRequest = (
  request: { method: string; traceparent: string | undefined; requestId: string },
  work: (trace: RequestTrace) => Promise<RequestOutcome>,
) => Promise<void>;

/** Handles each request in a trace and stores the trace in the request state. */
export function traceRequests(traceRequest: TraceRequest) {
  return async function trace(context: Context, next: Next): Promise<void> {
    const state = context.state as RequestState;
    const given = context.headers['traceparent'];
    const traceparent = typeof given === 'string' ? given : undefined;
    const { requestId } = state;
    await traceRequest({ method: context.method, traceparent, requestId }, async (of) => {
      state.trace = of;
      await next();
      return { route: state.route ?? null, status: context.status };
    });
  };
}

/** Returns the tracer of incoming requests; undefined if tracing is off. */
export function incomingTraces(tracing: Tracing | null): TraceRequest | undefined {
  if (tracing === null) return undefined;
  return async ({ method, traceparent, requestId }, work) => {
    const attributes = { 'http.request.method': method, 'baton.request_id': requestId };
    const plan = { name: method, kind: 'server', attributes, parent: traceparent } as const;
    await tracing.span(plan, async (span) => {
      const { route, status } = await work({ traceId: span.traceId, traceparent: span.traceparent });
      if (route !== null) span.name(`${method} ${route}`);
      span.set({ ...(route === null ? {} : { 'http.route': route }), 'http.response.status_code': status });
      if (status >= 500) span.end(String(status));
    });
  };
}
