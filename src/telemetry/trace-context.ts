/*
 * W3C Trace Context, as far as we speak it: `traceparent`. What other tracers add in `tracestate` is not passed on.
 */

/** Where in which trace something happens; `flags` as two hexadecimal digits, of which the last bit says sampled. */
export type TraceContext = { traceId: string; spanId: string; flags: string };

/** Version, trace, span, flags; later versions may have more behind them (section 3.2.4). */
const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

/** Reads a `traceparent`; null where it is none, for whoever sends it may send anything. */
export function parseTraceparent(text: string | null | undefined): TraceContext | null {
  const [whole = '', version, traceId = '', spanId = '', flags = ''] = FORM.exec(text ?? '') ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && whole.length !== 55)) return null;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return null;
  return { traceId, spanId, flags };
}

/** The same as text, in version 00. */
export function traceparentOf({ traceId, spanId, flags }: TraceContext): string {
  return `00-${traceId}-${spanId}-${flags}`;
}
