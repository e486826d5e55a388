import { formatExactTime, formatDuration, formatRelativeTime } from '../format/time.ts';
import { useNow } from './now.ts';

/** A moment as people say it; the exact one, here and in UTC, when one points at it. */
export function RelativeTime({ at }: { at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={formatExactTime(at)}>
      {formatRelativeTime(Math.max(now, 0), Date.parse(at))}
    </time>
  );
}

/** How long something took. */
export function Duration({ ms }: { ms: number }) {
  return <span title={`${ms.toLocaleString('en')} ms`}>{formatDuration(ms)}</span>;
}

/** How long something that runs has run. */
export function Elapsed({ since }: { since: string }) {
  const now = useNow('quick');
  return <span>{formatDuration(now - Date.parse(since))}</span>;
}
