import type { z } from 'zod';
import type { detail } from '../tasks/schema.ts';
import { MAX_REASON_LENGTH } from '../../domain/common/limits.ts';
import type { TaskState } from '../../domain/tasks/task-states.ts';
import { resultOf } from './results.ts';
import type { ToolContent } from './tool.ts';

/** The detail of a run, as its route returns it. */
export type Detail = z.output<typeof detail>;

/** The recommended time between two polls of a client, in milliseconds. */
const POLL_INTERVAL_MS = 2_000;
/** Key of a question that has no id. */
const FIRST = 'question';

/** A task of the Tasks extension (`DetailedTask`). Its id is that of the run. */
export type McpTask = {
  taskId: string;
  status: 'working' | 'input_required' | 'completed' | 'cancelled';
  statusMessage?: string;
  createdAt: string;
  lastUpdatedAt: string;
  ttlMs: null;
  pollIntervalMs: number;
  inputRequests?: Record<string, object>;
  result?: object;
};

/** Returns the key of the open question of a run; null if none is open. */
export function questionKey({ question }: Pick<Detail, 'question'>): string | null {
  return question && (question.id ?? FIRST);
}

/**
 * Returns a run as a task. `canAnswer`: the client can show forms. A run that failed is a completed task with an error as
 * its result: the extension reserves `failed` for errors of the protocol.
 */
export function taskOf(content: ToolContent, { canAnswer }: { canAnswer: boolean }): McpTask {
  const run = content.data as Detail;
  const common = {
    taskId: run.execution_id,
    statusMessage: messageOf(run),
    createdAt: run.created_at,
    lastUpdatedAt: lastChange(run),
    ttlMs: null,
    pollIntervalMs: POLL_INTERVAL_MS,
  };
  const key = questionKey(run);
  if (run.state === 'cancelled') return { ...common, status: 'cancelled' };
  if (hasResult(run.state)) {
    const isError = run.state === 'completed' ? {} : { isError: true };
    return { ...common, status: 'completed', result: { ...resultOf(content), ...isError } };
  }
  if (key === null || !canAnswer) return { ...common, status: 'working' };
  return { ...common, status: 'input_required', inputRequests: { [key]: formOf(run.question?.text ?? '') } };
}

function hasResult(state: TaskState): boolean {
  return state === 'completed' || state === 'failed' || state === 'escalated';
}

/** Returns the form that asks a person the question of an agent. */
function formOf(message: string): object {
  return {
    method: 'elicitation/create',
    params: {
      mode: 'form',
      message,
      requestedSchema: {
        type: 'object',
        properties: {
          answer: { type: 'string', title: 'Answer', minLength: 1, maxLength: MAX_REASON_LENGTH },
        },
        required: ['answer'],
      },
    },
  };
}

function messageOf({ state, question, paused_by, progress, escalation, errors }: Detail): string {
  if (question) return `Waits for an answer (continue_task): ${question.text}`;
  if (state === 'paused') return `Paused by ${paused_by ?? 'an unknown user'}`;
  if (state === 'escalated') return `Escalated: ${escalation?.reason ?? 'no reason was given'}`;
  if (state === 'failed') return `Failed: ${errors.at(-1)?.message ?? 'no reason was given'}`;
  const step = progress.current_step === null ? '' : `: ${progress.current_step}`;
  return `${state}, ${progress.steps_completed} of ${progress.steps_total} steps${step}`;
}

/** Returns the latest time in the detail. All have the same form, so they are compared as texts. */
function lastChange(run: Detail): string {
  const steps = run.steps.flatMap((step) => [step.started_at, step.completed_at]);
  const times = [run.created_at, run.started_at, run.paused_at, run.completed_at, run.question?.at, ...steps];
  return times.filter((time) => typeof time === 'string').reduce((one, other) => (one > other ? one : other));
}
