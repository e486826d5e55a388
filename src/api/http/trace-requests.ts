import type { Context, Next } from 'koa';
import type { Tracing } from '../../telemetry/tracing.ts';
import type { RequestState, RequestTrace } from './request-state.ts';

/** How a request was answered; `route` is the template of its path, null where there was none. */
type Answered = { route: string | null; status: number };

/** Has a request worked on within a trace: the caller's where it names one, by W3C Trace Context. */
export type TraceRequest = (
  request: { method: string; traceparent: string | undefined; requestId: string },
  work: (trace: RequestTrace) => Promise<Answered>,
) => Promise<void>;

/** Works on each request within a trace, and notes which. */
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

/** Requests that come in; undefined where no traces are kept. */
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
