/** The time spans of the log filter. */
export const SPANS = ['1h', '24h', '7d', '30d'] as const;
export type Span = (typeof SPANS)[number];

const HOUR_MS = 3_600_000;
const HOURS: Readonly<Record<Span, number>> = { '1h': 1, '24h': 24, '7d': 7 * 24, '30d': 30 * 24 };

export const SPAN_LABELS: Readonly<Record<Span, string>> = {
  '1h': 'Last hour',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
};

/** Returns the start of a span that ends now. */
export function startOfSpan(span: Span): string {
  return new Date(Date.now() - HOURS[span] * HOUR_MS).toISOString();
}
