import { z } from 'zod';
import {
  MAX_ARTIFACT_NAME_LENGTH,
  MAX_QUESTION_LENGTH,
  MAX_REASON_LENGTH,
  MAX_REHEARSAL_FAILURES,
  MAX_REHEARSAL_MS,
  MAX_REHEARSAL_PROGRESS_EVENTS,
  MAX_REHEARSAL_TEXT_LENGTH,
  MAX_STEPS,
} from '../common/limits.ts';

const milliseconds = z.int().min(0).max(MAX_REHEARSAL_MS);
const stepNumber = z.int().min(1).max(MAX_STEPS);

/**
 * `metadata.rehearsal`: the script of a simulated run (docs/agents.md). Steps are numbered from 1 in the order of the
 * plan. Unknown fields are rejected.
 */
export const rehearsalSchema = z
  .strictObject({
    start_ms: milliseconds.optional().describe('How long `initializing` takes, in milliseconds'),
    plan_ms: milliseconds.optional().describe('How long `planning` takes, in milliseconds'),
    step_ms: milliseconds.optional().describe('How long each step takes, in milliseconds'),
    steps: stepNumber.optional().describe('Number of steps, instead of the steps of the team'),
    progress_events: z
      .int()
      .min(0)
      .max(MAX_REHEARSAL_PROGRESS_EVENTS)
      .optional()
      .describe('`step.progress` reports per step'),
    fail: z
      .strictObject({ step: stepNumber, times: z.int().min(1).max(MAX_REHEARSAL_FAILURES) })
      .optional()
      .describe('The step fails this many times, then succeeds'),
    unrecoverable: z
      .strictObject({ step: stepNumber })
      .optional()
      .describe('This step ends the run as `failed`'),
    escalate: z
      .strictObject({ step: stepNumber, reason: z.string().min(1).max(MAX_REASON_LENGTH) })
      .optional()
      .describe('This step ends the run as `escalated`'),
    artifact: z
      .strictObject({
        step: stepNumber,
        name: z.string().min(1).max(MAX_ARTIFACT_NAME_LENGTH),
        media_type: z.string().min(1).max(100).optional(),
        text: z.string().max(MAX_REHEARSAL_TEXT_LENGTH),
      })
      .optional()
      .describe('This step saves this document'),
    ask: z
      .strictObject({ step: stepNumber, question: z.string().min(1).max(MAX_QUESTION_LENGTH) })
      .optional()
      .describe('This step asks this question first: the run is paused until it is continued'),
  })
  .meta({ id: 'Rehearsal' });

export type Rehearsal = z.infer<typeof rehearsalSchema>;
