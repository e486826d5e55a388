import {
  formatClockTime,
  formatDuration,
  formatExactTime,
  formatLocal,
  formatRelativeTime,
  formatTimeAhead,
} from '../format/time.ts';
import { useNow, useTextOfNow } from './now.ts';

/**
 * A relative time. The tooltip shows the exact local and UTC time. Only a time with `isAhead` is shown as one to come:
 * others can be later than the shown clock, which ticks every 5 seconds and may be behind that of the server.
 */
export function RelativeTime({ at, isAhead = false }: { at: string; isAhead?: boolean }) {
  const time = Date.parse(at);
  const text = useTextOfNow((now) =>
    isAhead ? formatTimeAhead(now, time) : formatRelativeTime(now, Math.min(time, now)),
  );
  return (
    <time dateTime={at} title={formatExactTime(at)}>
      {text}
    </time>
  );
}

/** A moment as date and time, or as time alone, in the local time zone. The tooltip shows it in UTC, too. */
export function Moment({ at, isClock = false }: { at: string; isClock?: boolean }) {
  return (
    <time dateTime={at} title={formatExactTime(at)}>
      {isClock ? formatClockTime(at) : formatLocal(at)}
    </time>
  );
}

/** Shows a duration. */
export function Duration({ ms }: { ms: number }) {
  return <span title={`${ms.toLocaleString('en')} ms`}>{formatDuration(ms)}</span>;
}

/** Shows the time since a start, live. */
export function Elapsed({ since }: { since: string }) {
  const now = useNow('quick');
  return <span>{formatDuration(now - Date.parse(since))}</span>;
}
