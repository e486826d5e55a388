import { formatLocal } from '../format/time.ts';
import { dayOf, parseDay, SPAN_LABELS, SPANS, type Span } from '../format/spans.ts';

/** A span that ends now, the time since a moment, or days. None of them: any time. */
export type TimeSearch = {
  span?: Span | undefined;
  since?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
};

type TimeProps = { search: TimeSearch; onChange: (search: Required<TimeSearch>) => void };

const NONE = { span: undefined, since: undefined, from: undefined, to: undefined };

/** A filter by time: one of the usual spans, or from one day to another. */
export function TimeFilter({ search: { span, since, from, to }, onChange }: TimeProps) {
  const hasDays = from !== undefined || to !== undefined;
  return (
    <>
      <select
        className="plain-select"
        aria-label="Time"
        value={hasDays ? 'days' : (since ?? span ?? '')}
        onChange={({ currentTarget: { value } }) =>
          onChange(
            value === 'days'
              ? { ...NONE, from: dayOf(new Date()) }
              : { ...NONE, span: value === '' ? undefined : (value as Span) },
          )
        }
      >
        <option value="">Any time</option>
        {SPANS.map((value) => (
          <option key={value} value={value}>
            {SPAN_LABELS[value]}
          </option>
        ))}
        {since ? <option value={since}>Since {formatLocal(since)}</option> : null}
        <option value="days">Days…</option>
      </select>
      {hasDays ? (
        <>
          <Day label="From" day={from} onChange={(day) => onChange({ ...NONE, from: day, to })} />
          <Day label="To" day={to} onChange={(day) => onChange({ ...NONE, from, to: day })} />
        </>
      ) : null}
    </>
  );
}

type DayProps = { label: string; day: string | undefined; onChange: (day: string | undefined) => void };

function Day({ label, day, onChange }: DayProps) {
  return (
    <input
      type="date"
      className="plain-select"
      aria-label={label}
      title={label}
      value={day ?? ''}
      onChange={({ currentTarget: { value } }) => onChange(parseDay(value))}
    />
  );
}
