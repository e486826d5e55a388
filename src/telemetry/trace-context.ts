/* W3C Trace Context, only `traceparent`. `tracestate` is not passed on. */

/** A position in a trace; `flags` are two hexadecimal digits, the last bit means sampled. */
export type TraceContext = { traceId: string; spanId: string; flags: string };

/** Version, trace, span, flags. Later versions can have more fields (section 3.2.4). */
const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

/** Parses a `traceparent`; null if it is not valid, because clients can send anything. */
export function parseTraceparent(text: string | null | undefined): TraceContext | null {
  const [whole = '', version, traceId = '', spanId = '', flags = ''] = FORM.exec(text ?? '') ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && whole.length !== 55)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, flags };
}

/** Returns the text of a context, in version 00. */
export function traceparentOf({ traceId, spanId, flags }: TraceContext): string {
  return `00-${traceId}-${spanId}-${flags}`;
}
