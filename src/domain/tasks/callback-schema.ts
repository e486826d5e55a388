import { z } from 'zod';
import { CALLBACK_STATES } from './task-states.ts';

/** The body of a task result callback (docs/callbacks.md). It may get further fields. */
export const callbackSchema = z.looseObject({
  execution_id: z.string(),
  status: z.enum(CALLBACK_STATES),
  duration_ms: z.int(),
  started_at: z.iso.datetime(),
  completed_at: z.iso.datetime(),
  output: z.looseObject({}).describe('Empty if the run ended before it had a plan'),
  errors: z.array(
    z.looseObject({
      code: z.string(),
      message: z.string(),
      step: z.string().nullable(),
      agent: z.string().nullable(),
      at: z.iso.datetime(),
    }),
  ),
});
