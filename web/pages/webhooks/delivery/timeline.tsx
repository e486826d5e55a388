import { formatDuration, formatExactTime, formatLocal } from '../../../format/time.ts';
import { Dot } from '../../../components/status.tsx';
import { Moment, RelativeTime } from '../../../components/time.tsx';
import type { Tone } from '../../../components/tones.ts';
import { comingAttempts, outcomeLabel } from '../parts/attempt-text.ts';
import type { Attempt, DeliveryDetail } from '../parts/queries.ts';
import classes from './delivery.module.css';

type TimelineEntry = { key: string; at: string; tone: Tone; title: string; detail: string; attempt?: number };

type TimelineProps = {
  delivery: DeliveryDetail;
  /** The number of the selected attempt. */
  chosen: number | undefined;
  onChoose: (attempt: number) => void;
};

/** A delivery from its event to its next attempt: occurred → accepted → attempts → next. */
export function Timeline({ delivery, chosen, onChoose }: TimelineProps) {
  const entries = entriesOf(delivery);
  const { automatic, scheduled } = comingAttempts(delivery);
  return (
    <ol className={classes['timeline']} aria-label="Timeline">
      {entries.map((stop, index) => (
        <li key={stop.key}>
          <span className={classes['mark']}>
            <Dot tone={stop.tone} />
          </span>
          {stop.attempt === undefined ? (
            <span className={classes['stop']}>{stop.title}</span>
          ) : (
            <button
              type="button"
              className={classes['stop']}
              aria-pressed={stop.attempt === chosen}
              onClick={() => onChoose(stop.attempt ?? 0)}
            >
              {stop.title}
            </button>
          )}
          <span className={classes['moment']} title={formatExactTime(stop.at)}>
            {index === 0 ? formatLocal(stop.at) : sinceBefore(entries[index - 1]?.at ?? stop.at, stop.at)}
            {stop.detail ? ` · ${stop.detail}` : ''}
          </span>
        </li>
      ))}
      {automatic ? (
        <li>
          <span className={classes['mark']}>
            <Dot tone="waiting" />
          </span>
          <span className={classes['stop']}>next attempt</span>
          <span className={classes['moment']}>
            <RelativeTime at={automatic} isAhead /> · <Moment at={automatic} isClock />
          </span>
        </li>
      ) : null}
      {scheduled ? (
        <li>
          <span className={classes['mark']}>
            <Dot tone="waiting" />
          </span>
          <span className={classes['stop']}>scheduled retry</span>
          <span className={classes['moment']}>
            <RelativeTime at={scheduled} isAhead /> · <Moment at={scheduled} />
          </span>
        </li>
      ) : null}
    </ol>
  );
}

function entriesOf({ event_timestamp, received_at, attempts }: DeliveryDetail): TimelineEntry[] {
  const stops: TimelineEntry[] = [];
  if (event_timestamp) {
    stops.push({ key: 'occurred', at: event_timestamp, tone: 'off', title: 'event occurred', detail: '' });
  }
  if (received_at)
    stops.push({ key: 'received', at: received_at, tone: 'off', title: 'accepted by Baton', detail: '' });
  return [...stops, ...attempts.map(entryOfAttempt)];
}

function entryOfAttempt({
  number,
  trigger,
  attempted_at,
  response,
  failure,
  response_ms,
}: Attempt): TimelineEntry {
  const outcome = outcomeLabel(response?.status ?? null, failure);
  const by = trigger === 'automatic' ? '' : ` (${trigger})`;
  return {
    key: `attempt-${number}`,
    at: attempted_at,
    tone: failure === null ? 'done' : 'failed',
    title: `attempt ${number}${by}: ${outcome}`,
    detail: response_ms === null ? '' : `took ${formatDuration(response_ms)}`,
    attempt: number,
  };
}

/** Returns `+12 ms`. Can be negative: the event's own time comes from the clock of its sender. */
function sinceBefore(before: string, at: string): string {
  const ms = Date.parse(at) - Date.parse(before);
  return `${ms < 0 ? '−' : '+'}${formatDuration(Math.abs(ms))}`;
}
