import type { JSONRPCMessage } from '@ai-sdk/mcp';

/** Returns the `traceparent` of the operation that sends a request; null if there is no trace. */
export type CurrentTrace = () => string | null;

/**
 * Returns a request of MCP with its trace in `_meta` (MCP 2026-07-28, Trace Context). Other messages stay as they are. The
 * library has no option for it.
 */
export function withTrace(message: JSONRPCMessage, traceparent: string | null): JSONRPCMessage {
  if (traceparent === null || !('method' in message) || !('id' in message)) return message;
  const { params } = message;
  return { ...message, params: { ...params, _meta: { ...params?._meta, traceparent } } };
}

/** Returns a `fetch` that adds the trace to each request of MCP that it sends. */
export function tracingFetch(fetch: typeof globalThis.fetch, current: CurrentTrace): typeof globalThis.fetch {
  return async (input, init) => {
    const traceparent = current();
    if (traceparent === null || typeof init?.body !== 'string') return await fetch(input, init);
    const message = withTrace(JSON.parse(init.body) as JSONRPCMessage, traceparent);
    return await fetch(input, { ...init, body: JSON.stringify(message) });
  };
}

/** Returns a `fetch` that sends the trace as the `traceparent` header (W3C Trace Context). */
export function withTraceHeader(
  fetch: typeof globalThis.fetch,
  current: CurrentTrace,
): typeof globalThis.fetch {
  return async (input, init) => {
    const traceparent = current();
    if (traceparent === null) return await fetch(input, init);
    const headers = new Headers(init?.headers);
    headers.set('traceparent', traceparent);
    return await fetch(input, { ...init, headers: Object.fromEntries(headers) });
  };
}
