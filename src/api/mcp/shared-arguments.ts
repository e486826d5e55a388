import { z } from 'zod';

/** The argument of tools whose route supports `Idempotency-Key`. */
export const idempotent = z.object({
  idempotency_key: z
    .string()
    .optional()
    .describe(
      'Any text of 1–255 visible ASCII characters that is new for each request. A repeated call with the same key and the same arguments returns the first result and has no further effect, for 24 hours',
    ),
});
