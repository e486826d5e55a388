import { z } from 'zod';
import { FAILURE_KINDS } from '../common/failure-kinds.ts';
import { CALLBACK_TRIGGERS } from './callback.ts';
import type { FeedEventType } from './feed-events.ts';
import { BACKENDS } from './plan.ts';
import { escalation, question, runError, usage } from './run-schemas.ts';
import { timestamp, uuidOut } from '../common/schema-parts.ts';
import { TASK_STATES, TERMINAL_STATES } from './task-states.ts';

/*
 * Schemas of the events of a run's feed, by type. The channel, `GET …/events` as JSON and as server-sent events, and
 * the generated documents use them.
 */

const EXECUTION = '0199c2a4-5b7e-7a31-9a54-3f0c8b1d2e6f';
const AT = '2026-01-31T12:00:00.000Z';
const STEP = { id: '0199c2a4-5b8c-7d15-8e62-91f0a7c3d4b5', name: 'design', agent: 'architect', attempt: 1 };

const state = z.enum(TASK_STATES);
const step = z
  .strictObject({
    id: z.string(),
    name: z.string().describe('Unique within the run'),
    agent: z.string(),
    attempt: z.int().min(1).describe('Counted from 1'),
  })
  .meta({ id: 'StepReference' });
const plannedStep = z.strictObject({
  id: z.string(),
  name: z.string(),
  agent: z.string(),
  after: z.array(z.string()).describe('Names of the steps that must complete first'),
  kept: z.literal(true).optional().describe('Completed step, kept from the earlier run'),
});

const rerunAnswer = z
  .strictObject({
    step: z.string().describe('Name of the step that escalated'),
    question: z.string().describe('Reason of the escalation'),
    text: z.string(),
    by: z.string().describe('Who answered'),
  })
  .meta({ id: 'RerunAnswer' });

/** `data` of the events of each type, without the fields that all events have. */
const KINDS = {
  'state.changed': {
    id: 'StateChanged',
    description: 'The state of the run changed',
    data: z.strictObject({
      from: state,
      to: state,
      by: z.string().optional().describe('Who requested it, if anyone'),
      reason: z.string().optional().describe('The reason given with the request'),
      question: question.optional().describe('Question of the agent that paused the run'),
      backend: z.enum(BACKENDS).optional().describe('What runs the steps; set when executing starts'),
      steps: z.array(plannedStep).optional().describe('The plan; set when executing starts'),
      answer: rerunAnswer
        .optional()
        .describe('Answer to the escalation of the earlier run; set when executing starts'),
    }),
    example: { from: 'executing', to: 'paused', by: 'user:ada@example.com', reason: 'needs review' },
  },
  'step.started': {
    id: 'StepStarted',
    description: 'A step attempt started',
    data: z.strictObject({ step }),
    example: { step: STEP },
  },
  'step.progress': {
    id: 'StepProgress',
    description:
      'Progress of a step. Frequent reports are merged before they get a `seq`; the latest report wins',
    data: z.strictObject({
      step,
      percent: z.int().min(0).max(100).optional().describe('Omitted if the agent does not know'),
      text: z.string().optional().describe('Message of the agent'),
    }),
    example: { step: STEP, percent: 40 },
  },
  'step.completed': {
    id: 'StepCompleted',
    description: 'A step completed',
    data: z.strictObject({
      step,
      summary: z.string().nullable(),
      usage: usage.nullable(),
      duration_ms: z.int().nullable().describe('Since the start of its first attempt'),
    }),
    example: {
      step: STEP,
      summary: 'Chose two tables and one queue.',
      usage: { input_tokens: 812, output_tokens: 240 },
      duration_ms: 812,
    },
  },
  'step.failed': {
    id: 'StepFailed',
    description: 'A step attempt failed',
    data: z.strictObject({
      step,
      error: runError,
      retry_in_ms: z
        .number()
        .nullable()
        .describe('Milliseconds until the next attempt; null if there is none'),
    }),
    example: {
      step: STEP,
      error: {
        code: 'step_failed',
        message: 'the tool did not respond',
        step: 'design',
        agent: 'architect',
        at: AT,
      },
      retry_in_ms: 1_000,
    },
  },
  'agent.message': {
    id: 'AgentMessage',
    description: 'Message of an agent; for a model, after each call',
    data: z.strictObject({ step, text: z.string() }),
    example: { step: STEP, text: 'The queue is the simplest thing that works.' },
  },
  'escalation.requested': {
    id: 'EscalationRequested',
    description: 'An agent asked for a human decision; the run ends `escalated`',
    data: z.strictObject({ step, reason: z.string() }),
    example: { step: STEP, reason: 'The two requirements contradict each other.' },
  },
  'callback.attempted': {
    id: 'CallbackAttempted',
    description:
      'A callback attempt ended. The last attempt, successful or not, is the last event of a run. A manual retry adds one more',
    data: z.strictObject({
      attempt: z.int().min(1),
      trigger: z.enum(CALLBACK_TRIGGERS).optional().describe('Omitted in events of earlier versions'),
      outcome: z.enum(['succeeded', 'failed']),
      response_status: z.int().nullable(),
      failure: z.enum(FAILURE_KINDS).nullable(),
      message: z.string().nullable(),
      duration_ms: z.int().nullable(),
      next_attempt_at: timestamp.nullable().describe('Null if there is none'),
    }),
    example: {
      attempt: 1,
      trigger: 'automatic',
      outcome: 'failed',
      response_status: 500,
      failure: 'status',
      message: 'The response has status 500',
      duration_ms: 31,
      next_attempt_at: '2026-01-31T12:00:01.000Z',
    },
  },
  'run.ended': {
    id: 'RunEnded',
    description: 'The run ended. Last event of a run without a callback',
    data: z.strictObject({
      state: z.enum(TERMINAL_STATES),
      duration_ms: z.int().nullable(),
      errors: z.array(runError),
      escalation: escalation.nullable(),
    }),
    example: { state: 'completed', duration_ms: 5_120, errors: [], escalation: null },
  },
} as const satisfies Record<
  FeedEventType,
  { id: string; description: string; data: z.ZodType; example: Record<string, unknown> }
>;

function eventOf<const T extends FeedEventType>(type: T, seq: number) {
  const { id, description, example } = KINDS[type];
  const data: (typeof KINDS)[T]['data'] = KINDS[type].data;
  return z
    .strictObject({
      seq: z.int().min(1).describe('1, 2, 3 … within a run, without gaps'),
      type: z.literal(type),
      execution_id: uuidOut,
      at: timestamp.describe('When it happened'),
      data,
    })
    .meta({ id, description, examples: [{ seq, type, execution_id: EXECUTION, at: AT, data: example }] });
}

/** The schema of each type of event. */
export const FEED_SCHEMAS = {
  'state.changed': eventOf('state.changed', 6),
  'step.started': eventOf('step.started', 3),
  'step.progress': eventOf('step.progress', 4),
  'step.completed': eventOf('step.completed', 8),
  'step.failed': eventOf('step.failed', 5),
  'agent.message': eventOf('agent.message', 7),
  'escalation.requested': eventOf('escalation.requested', 9),
  'callback.attempted': eventOf('callback.attempted', 12),
  'run.ended': eventOf('run.ended', 11),
} as const satisfies Record<FeedEventType, z.ZodType>;

/** Any event of a run's feed. */
export const feedEvent = z
  .discriminatedUnion('type', [
    FEED_SCHEMAS['state.changed'],
    FEED_SCHEMAS['step.started'],
    FEED_SCHEMAS['step.progress'],
    FEED_SCHEMAS['step.completed'],
    FEED_SCHEMAS['step.failed'],
    FEED_SCHEMAS['agent.message'],
    FEED_SCHEMAS['escalation.requested'],
    FEED_SCHEMAS['callback.attempted'],
    FEED_SCHEMAS['run.ended'],
  ])
  .meta({ id: 'FeedEvent', description: 'One event of a run, in the order of `seq`' });
