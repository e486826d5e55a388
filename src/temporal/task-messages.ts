import { defineQuery, defineSignal } from '@temporalio/workflow';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { Rehearsal } from '../domain/tasks/rehearsal.ts';
import type { Answer, ContinueRequest, ControlRequest } from '../domain/tasks/run-state.ts';
import type { RunView } from '../domain/tasks/run-schemas.ts';
import type { TaskType } from '../domain/tasks/task-run.ts';
import type { TaskState } from '../domain/tasks/task-states.ts';

/** Names of the workflows of runs, for clients, workers and the Temporal Web UI. */
export const TASK_RUN_WORKFLOW = 'taskRun';
export const TASK_CALLBACK_WORKFLOW = 'taskCallback';
export const CALLBACK_RETRY_WORKFLOW = 'callbackRetry';
export const PUSH_WORKFLOW = 'pushNotifications';

/** Input of a run: ids and what determines its course. Texts and secrets stay in the database. */
export type TaskRunInput = {
  executionId: string;
  /** ISO 8601. */
  createdAt: string;
  hasCallback: boolean;
  taskType: TaskType;
  rehearsal: Rehearsal | null;
  /** Set if a stored plan exists that this run adopts (a rerun). */
  hasPlan?: true;
  /**
   * Values of search attributes, in addition to state and type; null if the Temporal service does not have the search
   * attributes of Baton, since using them would block the run.
   */
  findBy: { workspaceId: string; projectId: string } | null;
  /** Whether signals wait for earlier writes (`src/workflows/signal-order.ts`). Absent in runs of earlier versions. */
  ordersSignals?: true;
  /** Number of events from which the run continues as a new execution. Only tests set it. */
  historyEvents?: number;
};

/**
 * A pause made in the Temporal Web UI, as its workflow is signalled. The workflow can react only once the pause is
 * over.
 */
export type EnginePause = { pausedAt: string; by: string };

export const pauseSignal = defineSignal<[ControlRequest]>('pause');
export const continueSignal = defineSignal<[ContinueRequest]>('continue');
export const cancelSignal = defineSignal<[ControlRequest]>('cancel');
export const enginePausedSignal = defineSignal<[EnginePause]>('engine-paused');

/**
 * A question of an agent to a person. The workflow of its step signals it to the run. `call` is the number of the call.
 */
export type ApprovalAsked = { stepId: string; attempt: number; call: number; text: string };
/** The person's answer, given by continuing the run. The run signals it to the workflow that asked. */
export type ApprovalAnswered = Answer & { call: number };

export const approvalAskedSignal = defineSignal<[ApprovalAsked]>('approval-asked');
export const approvalAnsweredSignal = defineSignal<[ApprovalAnswered]>('approval-answered');

export const stateQuery = defineQuery<TaskState>('state');
export const detailQuery = defineQuery<RunView>('detail');

/** Search attributes. The operator of the Temporal service registers them (see temporal-dev.yml). */
export const workspaceAttribute = defineSearchAttributeKey('BatonWorkspace', SearchAttributeType.KEYWORD);
export const projectAttribute = defineSearchAttributeKey('BatonProject', SearchAttributeType.KEYWORD);
export const taskTypeAttribute = defineSearchAttributeKey('BatonTaskType', SearchAttributeType.KEYWORD);
export const stateAttribute = defineSearchAttributeKey('BatonState', SearchAttributeType.KEYWORD);

/** The names of all search attributes. */
export const SEARCH_ATTRIBUTES = [
  workspaceAttribute,
  projectAttribute,
  taskTypeAttribute,
  stateAttribute,
].map(({ name }) => name);

/** The name of the activity that makes the attempts of a callback. */
export const SEND_CALLBACK_ACTIVITY = 'sendCallback';

/** Returns the workflow id of a callback that the run's own workflow cannot send. */
export function callbackWorkflowId(executionId: string): string {
  return `${executionId}:callback`;
}

/** A manual retry of a failed callback: one more attempt. */
export type CallbackRetry = { executionId: string; retryId: string };

export function callbackRetryWorkflowId({ executionId, retryId }: CallbackRetry): string {
  return `${callbackWorkflowId(executionId)}:${retryId}`;
}

/** The push notifications of a run to one address. */
export type Push = { executionId: string; id: string };

/** Returns the workflow id of push notifications. Like a callback, they are not cancelled with the run's agents. */
export function pushWorkflowId({ executionId, id }: Push): string {
  return `${callbackWorkflowId(executionId)}:push:${id}`;
}

/**
 * Returns the task queues with a prefix. `runs`: workflows and their short database writes. `agents`: work that may
 * take long. `callbacks`: requests to callers, which slow agents must not delay. `deliveries`: workflows and activities
 * of webhooks, in separate workers.
 */
export function taskQueues(prefix: string) {
  return {
    runs: `${prefix}-runs`,
    agents: `${prefix}-agents`,
    callbacks: `${prefix}-callbacks`,
    deliveries: `${prefix}-deliveries`,
  };
}

/** Returns the task queues with the same prefix as the queue of a workflow, which is the one of runs or of deliveries. */
export function siblingQueues(queue: string) {
  return taskQueues(queue.replace(/-(runs|deliveries)$/, ''));
}
