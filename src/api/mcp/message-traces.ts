import type { Tracing } from '../../telemetry/tracing.ts';
import type { RequestState, RequestTrace } from '../http/request-state.ts';

/** A message of a client. `tool`: the tool that it calls. */
export type TracedMessage = {
  method: string;
  tool?: string | undefined;
  /** The `_meta` of the message, which can contain a `traceparent` (MCP 2026-07-28, Trace Context). */
  meta: Readonly<Record<string, unknown>> | undefined;
};

/** Handles a message in a span: below the span of its sender if it names one, otherwise below that of the request. */
export type TraceMessage = <T>(
  message: TracedMessage & { requestId: string },
  work: (trace: RequestTrace) => Promise<T>,
) => Promise<T>;

/** Handles a message of the current request. */
export type HandleTraced = <T>(message: TracedMessage, work: () => Promise<T>) => Promise<T>;

/** Returns the tracer of messages; undefined if tracing is off. */
export function messageTraces(tracing: Tracing | null): TraceMessage | undefined {
  if (tracing === null) return undefined;
  return async ({ method, tool, meta, requestId }, work) => {
    const given = meta?.['traceparent'];
    const plan = {
      name: tool === undefined ? method : `${method} ${tool}`,
      kind: 'server',
      attributes: {
        'mcp.method.name': method,
        'baton.request_id': requestId,
        ...(tool === undefined ? {} : { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': tool }),
      },
      parent: typeof given === 'string' ? given : undefined,
    } as const;
    return await tracing.span(plan, async (span) => {
      try {
        const result = await work({ traceId: span.traceId, traceparent: span.traceparent });
        if ((result as { isError?: unknown } | null)?.isError === true) span.end('tool_error');
        return result;
      } catch (error) {
        const { code } = error as { code?: unknown };
        // The code of an error of JSON-RPC.
        if (typeof code === 'number') span.end(String(code));
        throw error;
      }
    });
  };
}

/** Returns the function that handles messages of a request; what they cause belongs to their traces. */
export function messagesOf(traceMessage: TraceMessage | undefined, state: RequestState): HandleTraced {
  if (traceMessage === undefined) return (_message, work) => work();
  return (message, work) =>
    traceMessage({ ...message, requestId: state.requestId }, async (trace) => {
      state.trace = trace;
      return await work();
    });
}
