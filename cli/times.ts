import { usageError } from './exit-codes.ts';

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * Returns a time of the command line as ISO 8601: given in that form, or as a duration like `90s`, `30m`, `12h`, `7d`
 * before or after `now`.
 */
export function timeOf(option: string, text: string, direction: 'ago' | 'ahead', now = new Date()): string {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count !== undefined && unit !== undefined) {
    const span = Number(count) * UNITS[unit as keyof typeof UNITS];
    return new Date(now.getTime() + (direction === 'ago' ? -span : span)).toISOString();
  }
  const time = /^\d{4}-\d\d-\d\d(T.*)?$/.test(text) ? new Date(text) : null;
  if (time !== null && !Number.isNaN(time.getTime())) return time.toISOString();
  throw usageError(`${option} must be an ISO 8601 time or a duration such as 30m, 12h or 7d`);
}
