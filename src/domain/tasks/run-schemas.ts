import { z } from 'zod';
import { timestamp, uuidOut } from '../common/schema-parts.ts';
import { ACTIVE_STATES, RUN_ERROR_CODES, STEP_STATUSES, TASK_STATES } from './task-states.ts';

/** The parts of a run as everybody outside sees them: in its detail, its feed and its room. */

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
    model_calls: z.int().optional().describe('Calls that a model answered'),
    cost_usd: z
      .number()
      .optional()
      .describe('US dollars, where the catalogue knows the prices of its models'),
  })
  .meta({ id: 'Usage', description: 'What the models of a step counted, over all its attempts' });

export const step = z
  .strictObject({
    id: z.string(),
    name: z.string().describe('Unique within the run'),
    agent: z.string(),
    status: z.enum(STEP_STATUSES),
    attempt: z.int().describe('0 before it began'),
    started_at: timestamp.nullable(),
    completed_at: timestamp.nullable(),
    duration_ms: z.int().nullable(),
    summary: z.string().nullable(),
    usage: usage.nullable(),
    error: runError.nullable(),
    kept: z
      .literal(true)
      .optional()
      .describe('The run that this one takes up completed the step; what it says is said of it there'),
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
  .meta({ id: 'Escalation', description: 'Why agents asked for a human' });

export const question = z
  .strictObject({ step: z.string(), agent: z.string(), text: z.string(), at: timestamp })
  .meta({
    id: 'Question',
    description:
      'What an agent asks. Continuing the run answers it, with the reason as the answer; cancelling ends it',
  });

/** The changing part of a run. The `detail` query returns it, and the stored projection has the same fields. */
const runView = z.strictObject({
  state: z.enum(TASK_STATES),
  paused_from: z.enum(ACTIVE_STATES).nullable().describe('What a paused run goes back to'),
  progress,
  steps: z.array(step),
  started_at: timestamp.nullable(),
  paused_at: timestamp.nullable(),
  paused_by: z.string().nullable(),
  paused_ms: z.int().describe('Milliseconds paused so far, a pause that still holds not included'),
  completed_at: timestamp.nullable(),
  duration_ms: z.int().nullable(),
  output: z.record(z.string(), z.unknown()).nullable(),
  errors: z.array(runError),
  escalation: escalation.nullable(),
  question: question.nullable().describe('While the run is paused for the answer'),
  last_seq: z.int().describe('`seq` of the last event that this includes'),
});

/** The snapshot that a run's room begins with. */
export const workflowSnapshot = z
  .strictObject({ execution_id: uuidOut, ...runView.shape })
  .meta({ id: 'WorkflowSnapshot', description: 'A run as it stands' });

/** Optional fields are absent, never `undefined`. */
type Exact<T> = { [K in keyof T]: Exclude<T[K], undefined> };

export type Usage = Exact<z.infer<typeof usage>>;
export type RunError = z.infer<typeof runError>;
/** Times are ISO 8601 UTC with milliseconds. */
export type Step = Exact<Omit<z.infer<typeof step>, 'usage'>> & { usage: Usage | null };
export type Progress = z.infer<typeof progress>;
export type Escalation = z.infer<typeof escalation>;
export type Question = z.infer<typeof question>;
export type RunView = Omit<z.infer<typeof runView>, 'steps'> & { steps: Step[] };
