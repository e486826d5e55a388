import {
  Role,
  TaskState as A2aState,
  type Artifact,
  type Message,
  type StreamResponse,
  type Task,
  type TaskStatus,
} from '@a2a-js/sdk';
import {
  FIRST_STANDING,
  headOf,
  message,
  partOf,
  standingAfter,
  stateOf,
  textIn,
  textOfErrors,
  withReason,
  type Question,
  type Standing,
  type TaskHead,
} from '../../agents/a2a-updates.ts';
import type { TaskRunRow } from '../../database/tasks/task-runs.ts';
import type { FeedEvent } from '../../domain/tasks/feed-events.ts';
import type { RunView } from '../../domain/tasks/run-schemas.ts';
import { openQuestionOf } from '../../domain/tasks/run-state.ts';
import { isTerminal, type TaskState } from '../../domain/tasks/task-states.ts';

/* The tasks of A2A 1.0, derived from a run and its feed. Pure. */

/** The id of the artifact with the output of an ended run. A document cannot have this name. */
export const OUTPUT_ARTIFACT = '/output';

/** Returns which runs have tasks in a state: their states, and for `paused` whether a question is open. */
export function runsIn(state: A2aState): { states: TaskState[]; asking?: boolean } {
  switch (state) {
    case A2aState.TASK_STATE_SUBMITTED:
      return { states: ['initializing'] };
    case A2aState.TASK_STATE_WORKING:
      return { states: ['planning', 'executing', 'paused'], asking: false };
    case A2aState.TASK_STATE_INPUT_REQUIRED:
      return { states: ['paused'], asking: true };
    case A2aState.TASK_STATE_COMPLETED:
      return { states: ['completed'] };
    case A2aState.TASK_STATE_FAILED:
      return { states: ['failed', 'escalated'] };
    case A2aState.TASK_STATE_CANCELED:
      return { states: ['cancelled'] };
    default:
      return { states: [] };
  }
}

/** A run with what its task shows of its feed and its documents. */
export type TaskParts = {
  row: TaskRunRow;
  view: RunView;
  /** The last change of state; null if there is none. */
  lastChange: FeedEvent | null;
  history: Message[];
  artifacts: Artifact[];
  statusUrl: string;
};

/** Returns the task of a run. */
export function taskOf({ row, view, lastChange, history, artifacts, statusUrl }: TaskParts): Task {
  const head = headOf(row);
  return {
    ...head,
    status: statusOf(head, row, view, lastChange),
    artifacts,
    history,
    metadata: {
      state: view.state,
      title: row.title,
      taskType: row.task_type,
      projectId: row.project_id,
      progress: progressOf(view),
      statusUrl,
      lastSeq: view.last_seq,
    },
  };
}

/** Returns the progress with names in the style of the protocol. */
function progressOf({ progress }: RunView): Record<string, unknown> {
  const { percent, steps_completed, steps_total, current_step } = progress;
  return {
    percent,
    stepsCompleted: steps_completed,
    stepsTotal: steps_total,
    currentStep: current_step,
  };
}

function statusOf(head: TaskHead, row: TaskRunRow, view: RunView, lastChange: FeedEvent | null): TaskStatus {
  const standing = lastChange ? standingAfter(FIRST_STANDING, lastChange) : FIRST_STANDING;
  // The view can be newer than the event that was read.
  const current =
    standing.state === view.state ? standing : { ...standing, by: view.paused_by, reason: null };
  const text = textOfStatus(view, current);
  return {
    state: stateOf(view),
    message: text === null ? undefined : message(head, `${view.last_seq}`, text, metadataOfStatus(view)),
    // Lists are in this order, see changed-runs.ts.
    timestamp: view.completed_at ?? row.updated_at.toISOString(),
  };
}

function textOfStatus(view: RunView, { by, reason }: Pick<Standing, 'by' | 'reason'>): string | null {
  switch (view.state) {
    case 'initializing':
      return null;
    case 'planning':
      return 'Planning.';
    case 'executing': {
      const { steps_completed, steps_total, current_step } = view.progress;
      const done = `${steps_completed} of ${steps_total} steps completed.`;
      return current_step === null ? done : `${done} Working on ${current_step}.`;
    }
    case 'paused':
      return view.question?.text ?? withReason('Paused', by, reason);
    case 'completed':
      return textIn(view.output ?? {}, 'summary') ?? 'Completed.';
    case 'failed':
      return textOfErrors(view.errors);
    case 'escalated':
      return view.escalation?.reason ?? 'An agent asked for a human decision.';
    case 'cancelled':
      return withReason('Cancelled', by, reason);
  }
}

/** Names the state that A2A has no word for, and the question that an answer can name. */
function metadataOfStatus({ state, question, escalation }: RunView): Record<string, unknown> {
  return {
    state,
    ...(question
      ? { question: openQuestionOf({ question }), step: question.step, agent: question.agent }
      : {}),
    ...(escalation ? { step: escalation.step, agent: escalation.agent } : {}),
  };
}

/**
 * Returns the messages of a task, oldest first: the submission, what agents said and asked, and the answers. `events`
 * are those of the types {@link HISTORY_EVENTS}.
 */
export function historyOf(row: TaskRunRow, events: readonly FeedEvent[]): Message[] {
  const head = headOf(row);
  const asked = { ...message(head, '0', row.description ?? row.title, undefined), role: Role.ROLE_USER };
  return [asked, ...events.flatMap((event) => messagesOf(head, event))];
}

export const HISTORY_EVENTS = ['agent.message', 'state.changed'] as const;

function messagesOf(head: TaskHead, { seq, type, data }: FeedEvent): Message[] {
  if (type === 'agent.message') {
    const { name, agent } = data['step'] as { name: string; agent: string };
    return [message(head, `${seq}`, String(data['text']), { step: name, agent })];
  }
  const question = data['question'] as Question | undefined;
  if (question) {
    const { step, agent } = question;
    return [message(head, `${seq}`, question.text, { question: openQuestionOf({ question }), step, agent })];
  }
  const reason = textIn(data, 'reason');
  if (data['from'] !== 'paused' || reason === null) return [];
  return [{ ...message(head, `${seq}`, reason, { by: data['by'] }), role: Role.ROLE_USER }];
}

/** An answer to a question: who gave it, and the text. */
export type GivenAnswer = Pick<Standing, 'by' | 'reason'> & { question: string | null };

/** Returns the answers to questions, oldest first. `changes` are changes of the state of a run, one after the other. */
export function answersIn(changes: readonly FeedEvent[]): GivenAnswer[] {
  const standings = changes.map((event) => standingAfter(FIRST_STANDING, event));
  return standings.flatMap(({ state, by, reason }, index) => {
    const asked = standings[index - 1]?.question ?? null;
    return asked === null || isTerminal(state)
      ? []
      : [{ question: openQuestionOf({ question: asked }), by, reason }];
  });
}

/** Returns an update with a new or changed document. */
export function artifactUpdateOf({ id, contextId }: TaskHead, artifact: Artifact): StreamResponse {
  const value = { taskId: id, contextId, artifact, append: false, lastChunk: true, metadata: undefined };
  return { payload: { $case: 'artifactUpdate', value } };
}

/** Returns the artifact with the output of an ended run, null if it has none. */
export function outputArtifact({ output }: Pick<RunView, 'output'>): Artifact | null {
  if (output === null) return null;
  const content = { $case: 'data' as const, value: output };
  return {
    artifactId: OUTPUT_ARTIFACT,
    name: 'output',
    description: 'The output of the run',
    parts: [partOf(content, 'application/json')],
    metadata: undefined,
    extensions: [],
  };
}
