import { z } from 'zod';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000 };

/** A duration in the catalogue, such as `30 s`, parsed to milliseconds. */
export const duration = z
  .string()
  .regex(/^\d+ (ms|s|min|h)$/, 'must be a duration such as 30 s, 5 min or 2 h')
  .transform((text) => {
    const [count, unit] = text.split(' ');
    return Number(count) * (UNITS[unit ?? ''] ?? 0);
  });
