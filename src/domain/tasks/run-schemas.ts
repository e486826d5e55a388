import { z } from 'zod';
import { timestamp, uuidOut } from '../common/schema-parts.ts';
import { ACTIVE_STATES, RUN_ERROR_CODES, STEP_STATUSES, TASK_STATES } from './task-states.ts';

/** Schemas of the parts of a run in its detail, its feed and its room. */

export const runError = z
  .strictObject({
    code: z.enum(RUN_ERROR_CODES),
    message: z.string(),
    step: z.string().nullable(),
    agent: z.string().nullable(),
    at: timestamp,
  })
  .meta({ id: 'RunError' });

export const usage = z
  .strictObject({
    input_tokens: z.int(),
    output_tokens: z.int(),
    model_calls: z.int().optional().describe('Answered model calls'),
    cost_usd: z.number().optional().describe('US dollars, if the catalogue has prices for the models'),
  })
  .meta({ id: 'Usage', description: 'Model usage of a step over all attempts' });

export const step = z
  .strictObject({
    id: z.string(),
    name: z.string().describe('Unique within the run'),
    agent: z.string(),
    status: z.enum(STEP_STATUSES),
    attempt: z.int().describe('0 before the step starts'),
    started_at: timestamp.nullable(),
    completed_at: timestamp.nullable(),
    duration_ms: z.int().nullable(),
    summary: z.string().nullable(),
    usage: usage.nullable(),
    error: runError.nullable(),
    kept: z
      .literal(true)
      .optional()
      .describe('The earlier run completed the step; its details are from that run'),
  })
  .meta({ id: 'Step' });

export const progress = z
  .strictObject({
    percent: z.int().min(0).max(100),
    steps_completed: z.int(),
    steps_total: z.int(),
    current_step: z.string().nullable(),
  })
  .meta({ id: 'Progress' });

export const escalation = z
  .strictObject({
    reason: z.string(),
    step: z.string().nullable(),
    agent: z.string().nullable(),
    at: timestamp,
  })
  .meta({ id: 'Escalation', description: 'Why an agent asked for a human decision' });

export const question = z
  .strictObject({
    id: z.string().optional().describe('Unique within the run. Absent in questions of earlier versions'),
    step: z.string(),
    agent: z.string(),
    text: z.string(),
    at: timestamp,
  })
  .meta({
    id: 'Question',
    description:
      'Question of an agent. Continue the run to answer it, with the reason as the answer. Cancel the run to end it',
  });

/** The changing part of a run. The `detail` query returns it, and the stored projection has the same fields. */
const runView = z.strictObject({
  state: z.enum(TASK_STATES),
  paused_from: z.enum(ACTIVE_STATES).nullable().describe('State that a paused run returns to'),
  progress,
  steps: z.array(step),
  started_at: timestamp.nullable(),
  paused_at: timestamp.nullable(),
  paused_by: z.string().nullable(),
  paused_ms: z.int().describe('Milliseconds paused, without the current pause'),
  completed_at: timestamp.nullable(),
  duration_ms: z.int().nullable(),
  output: z.record(z.string(), z.unknown()).nullable(),
  errors: z.array(runError),
  escalation: escalation.nullable(),
  question: question.nullable().describe('Set while the run is paused for the answer'),
  last_seq: z.int().describe('`seq` of the last event in this snapshot'),
});

/** The snapshot that a client gets when it joins the room of a run. */
export const workflowSnapshot = z
  .strictObject({ execution_id: uuidOut, ...runView.shape })
  .meta({ id: 'WorkflowSnapshot', description: 'Current state of a run' });

/** Optional fields are absent, never `undefined`. */
type Exact<T> = { [K in keyof T]: Exclude<T[K], undefined> };

export type Usage = Exact<z.infer<typeof usage>>;
export type RunError = z.infer<typeof runError>;
/** Times are ISO 8601 UTC with milliseconds. */
export type Step = Exact<Omit<z.infer<typeof step>, 'usage'>> & { usage: Usage | null };
export type Progress = z.infer<typeof progress>;
export type Escalation = z.infer<typeof escalation>;
export type Question = Exact<z.infer<typeof question>>;
export type RunView = Omit<z.infer<typeof runView>, 'steps'> & { steps: Step[] };
