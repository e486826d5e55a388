import { z } from 'zod';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000 };

/** A duration in the catalogue, such as `30 s`, parsed to milliseconds. `least` and `most`: milliseconds. */
export function duration(least: number, most: number) {
  return z
    .string()
    .regex(/^\d+ (ms|s|min|h)$/, { error: 'must be a duration such as 30 s, 5 min or 2 h', abort: true })
    .transform((text) => {
      const [count, unit] = text.split(' ');
      return Number(count) * (UNITS[unit ?? ''] ?? 0);
    })
    .refine((ms) => ms >= least && ms <= most, {
      error: `must be between ${formatDuration(least)} and ${formatDuration(most)}`,
    });
}

/** Returns milliseconds in the catalogue's format, in the largest unit that has a whole number. */
export function formatDuration(ms: number): string {
  const [unit, size] = Object.entries(UNITS).findLast(([, length]) => ms > 0 && ms % length === 0) ?? [
    'ms',
    1,
  ];
  return `${ms / size} ${unit}`;
}
