const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Returns `812 ms`, `1.4 s`, `2 min 3 s`, `3 h 5 min`, `2 d 4 h`. */
export function formatDuration(milliseconds: number): string {
  const ms = Math.max(0, milliseconds);
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < MINUTE) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < HOUR) return pair(ms, MINUTE, 'min', 1_000, 's');
  if (ms < DAY) return pair(ms, HOUR, 'h', MINUTE, 'min');
  return pair(ms, DAY, 'd', HOUR, 'h');
}

function pair(ms: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${largeUnit}${rest > 0 ? ` ${rest} ${smallUnit}` : ''}`;
}

/** Returns a moment relative to `now`: `just now`, `in a few seconds`, `40 s ago`, `in 2 h`, `yesterday`, `3 days ago`. */
export function formatRelativeTime(now: number, at: number): string {
  const delta = at - now;
  const size = Math.abs(delta);
  if (size < 5_000) return delta > 0 ? 'in a few seconds' : 'just now';
  if (size < MINUTE) return formatDistance(delta, 1_000, 's');
  if (size < HOUR) return formatDistance(delta, MINUTE, 'min');
  if (size < DAY) return formatDistance(delta, HOUR, 'h');
  return formatDays(delta);
}

/** Returns a moment to come relative to `now`; `now` if it has passed, since what is late is still to come. */
export function formatTimeAhead(now: number, at: number): string {
  return at <= now ? 'now' : formatRelativeTime(now, at);
}

function formatDays(delta: number): string {
  const count = Math.trunc(Math.abs(delta) / DAY);
  if (count === 1) return delta < 0 ? 'yesterday' : 'tomorrow';
  return delta < 0 ? `${count} days ago` : `in ${count} days`;
}

function formatDistance(delta: number, size: number, unit: string): string {
  const count = Math.trunc(Math.abs(delta) / size);
  return delta < 0 ? `${count} ${unit} ago` : `in ${count} ${unit}`;
}

/** Returns `2026-01-31 14:03:21` in the local time zone. */
export function formatLocal(iso: string): string {
  const at = new Date(iso);
  const date = [
    String(at.getFullYear()).padStart(4, '0'),
    twoDigits(at.getMonth() + 1),
    twoDigits(at.getDate()),
  ];
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits);
  return `${date.join('-')} ${time.join(':')}`;
}

/** Returns `14:03:21` in the local time zone. */
export function formatClockTime(iso: string): string {
  return formatLocal(iso).slice(-8);
}

/** Returns the moment in the local time zone and, on a second line, in UTC to the millisecond. */
export function formatExactTime(iso: string): string {
  return `${formatLocal(iso)} local time\n${formatUtc(iso)}`;
}

function twoDigits(part: number): string {
  return String(part).padStart(2, '0');
}

/** Returns `2026-01-31 12:00:00.000 UTC`. */
export function formatUtc(iso: string): string {
  return `${new Date(iso).toISOString().replace('T', ' ').replace('Z', '')} UTC`;
}
