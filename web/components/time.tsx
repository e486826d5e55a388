import { formatExactTime, formatDuration, formatRelativeTime } from '../format/time.ts';
import { useNow } from './now.ts';

/** A relative time. The tooltip shows the exact local and UTC time. */
export function RelativeTime({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={formatExactTime(at)}>
      {formatRelativeTime(Math.max(now, 0), Date.parse(at))}
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
