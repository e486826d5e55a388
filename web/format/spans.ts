/** The time spans of filters. */
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

/** Returns a day such as `2026-01-31`; undefined if the text is none. */
export function parseDay(value: unknown): string | undefined {
  if (typeof value !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(value)) return undefined;
  const time = Date.parse(value);
  // There is no 30 February.
  return Number.isFinite(time) && new Date(time).toISOString().startsWith(value) ? value : undefined;
}

/** Returns a time such as `2026-01-31T12:00:00.000Z`; undefined if the text is none. */
export function parseTime(value: unknown): string | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isFinite(time) ? new Date(time).toISOString() : undefined;
}

/** Returns the day of a moment in the local time zone. */
export function dayOf(moment: Date): string {
  const [month, day] = [moment.getMonth() + 1, moment.getDate()].map((part) => String(part).padStart(2, '0'));
  return `${String(moment.getFullYear()).padStart(4, '0')}-${month}-${day}`;
}

/** Returns the first moment of a day in the local time zone; that of the next day with `after: 1`. */
export function startOfDay(day: string, { after = 0 } = {}): string {
  const start = new Date(`${day}T00:00`);
  start.setDate(start.getDate() + after);
  return start.toISOString();
}
