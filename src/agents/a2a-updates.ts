import { Role, TaskState as A2aState, type Message, type Part, type StreamResponse } from '@a2a-js/sdk';
import type { FeedEvent } from '../domain/tasks/feed-events.ts';
import type { RunError, RunView } from '../domain/tasks/run-schemas.ts';
import { openQuestionOf } from '../domain/tasks/run-state.ts';
import type { TaskState } from '../domain/tasks/task-states.ts';

/*
 * The states and updates of A2A 1.0, derived from a run and its feed. Pure. The id of a task is the execution_id, and ids
 * of messages contain the `seq` of the event, so that a client can recognise a repeated one.
 */

/** The field of a run's metadata with the context that the client chose. */
export const CONTEXT_FIELD = 'a2a_context_id';

/** The parts of a run that a task and its events contain. */
export type TaskHead = { id: string; contextId: string };

export type Question = NonNullable<RunView['question']>;

/** The state of a run, and the open question that {@link stateOf} needs. */
type StateWithQuestion = { state: TaskState; question: Question | null };

/** The last change of state before a position in the feed: every status update of A2A repeats the state. */
export type Standing = StateWithQuestion & { by: string | null; reason: string | null };

/** The standing of a run without events. */
export const FIRST_STANDING: Standing = { state: 'initializing', question: null, by: null, reason: null };

/** Returns the id and the context of a run's task. Without a context of the client, the task is its own context. */
export function headOf({ id, metadata }: { id: string; metadata: string }): TaskHead {
  const context = (JSON.parse(metadata) as Record<string, unknown>)[CONTEXT_FIELD];
  return { id, contextId: typeof context === 'string' && context !== '' ? context : id };
}

/** Returns the state of the task of a run. A run is `paused` for an answer, or because somebody paused it. */
export function stateOf({ state, question }: StateWithQuestion): A2aState {
  switch (state) {
    case 'initializing':
      return A2aState.TASK_STATE_SUBMITTED;
    case 'planning':
    case 'executing':
      return A2aState.TASK_STATE_WORKING;
    case 'paused':
      return question === null ? A2aState.TASK_STATE_WORKING : A2aState.TASK_STATE_INPUT_REQUIRED;
    case 'completed':
      return A2aState.TASK_STATE_COMPLETED;
    case 'failed':
    case 'escalated':
      return A2aState.TASK_STATE_FAILED;
    case 'cancelled':
      return A2aState.TASK_STATE_CANCELED;
  }
}

/** Returns the standing after an event. */
export function standingAfter(before: Standing, { type, data }: FeedEvent): Standing {
  if (type !== 'state.changed') return before;
  return {
    state: data['to'] as TaskState,
    question: (data['question'] as Question | undefined) ?? null,
    by: textIn(data, 'by'),
    reason: textIn(data, 'reason'),
  };
}

/**
 * Returns what a stream sends for an event of the feed, null for events without a meaning in A2A. `before` is the
 * standing before the event. The end of a run is one update, for its last event.
 */
export function updateOf(head: TaskHead, event: FeedEvent, before: Standing): StreamResponse | null {
  const standing = standingAfter(before, event);
  const text = textOfEvent(event, before);
  if (text === null) return null;
  const { seq, type, at, data } = event;
  const step = data['step'] as Record<string, unknown> | undefined;
  const percent = data['percent'];
  const metadata = {
    ...(type === 'state.changed' && standing.question
      ? { question: openQuestionOf(standing), step: standing.question.step, agent: standing.question.agent }
      : {}),
    ...(step ? { step: step['name'], agent: step['agent'] } : {}),
  };
  const statusMessage =
    text === '' ? undefined : message(head, `${seq}`, text, { state: standing.state, ...metadata });
  return {
    payload: {
      $case: 'statusUpdate',
      value: {
        taskId: head.id,
        contextId: head.contextId,
        status: { state: stateOf(standing), message: statusMessage, timestamp: at },
        metadata: {
          seq,
          type,
          state: standing.state,
          ...(step ? { step } : {}),
          ...(typeof percent === 'number' ? { percent } : {}),
        },
      },
    },
  };
}

/** Returns the text of an update: empty for one without a message, null for no update. */
function textOfEvent({ type, data }: FeedEvent, before: Standing): string | null {
  const step = (data['step'] as { name: string } | undefined)?.name ?? '';
  switch (type) {
    case 'state.changed':
      return textOfChange(data, before);
    case 'step.started':
      return `${step} started.`;
    case 'step.progress':
    case 'agent.message':
      return textIn(data, 'text') ?? '';
    case 'step.completed':
      return textIn(data, 'summary') ?? `${step} completed.`;
    case 'step.failed':
      return `${step} failed: ${(data['error'] as RunError).message}`;
    case 'escalation.requested':
      return textIn(data, 'reason') ?? '';
    case 'run.ended':
      return textOfEnd(data, before);
    case 'callback.attempted':
      return null;
  }
}

function textOfChange(data: Record<string, unknown>, before: Standing): string | null {
  const { to, question } = data as { to: TaskState; question?: Question };
  switch (to) {
    case 'initializing':
    case 'planning':
    case 'executing':
      return before.state === 'paused'
        ? withReason('Continued', textIn(data, 'by'), textIn(data, 'reason'))
        : '';
    case 'paused':
      return question?.text ?? withReason('Paused', textIn(data, 'by'), textIn(data, 'reason'));
    default:
      // `run.ended` follows, with the reason. A stream closes after the update with an end state.
      return null;
  }
}

function textOfEnd(data: Record<string, unknown>, { by, reason }: Standing): string {
  const { state, errors, escalation } = data as {
    state: TaskState;
    errors: RunError[];
    escalation: { reason: string } | null;
  };
  if (state === 'completed') return 'Completed.';
  if (state === 'cancelled') return withReason('Cancelled', by, reason);
  return state === 'escalated' && escalation ? escalation.reason : textOfErrors(errors);
}

export function textOfErrors(errors: readonly RunError[]): string {
  return errors.map(({ message: text }) => text).join('\n') || 'The run failed.';
}

export function withReason(what: string, by: string | null, reason: string | null): string {
  return `${what}${by === null ? '' : ` by ${by}`}${reason ? `: ${reason}` : '.'}`;
}

/** Returns a part of a message or of an artifact. */
export function partOf(content: NonNullable<Part['content']>, mediaType: string, filename = ''): Part {
  return { content, mediaType, filename, metadata: undefined };
}

export function message(
  { id, contextId }: TaskHead,
  suffix: string,
  text: string,
  metadata: Record<string, unknown> | undefined,
): Message {
  return {
    messageId: `${id}:${suffix}`,
    taskId: id,
    contextId,
    role: Role.ROLE_AGENT,
    parts: [partOf({ $case: 'text', value: text }, 'text/plain')],
    metadata,
    extensions: [],
    referenceTaskIds: [],
  };
}

export function textIn(data: Record<string, unknown>, name: string): string | null {
  const value = data[name];
  return typeof value === 'string' ? value : null;
}
