import { defineQuery, defineSignal } from '@temporalio/workflow';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { Rehearsal } from '../domain/tasks/rehearsal.ts';
import type { Answer, ControlRequest } from '../domain/tasks/run-state.ts';
import type { RunView, TaskType } from '../domain/tasks/task-run.ts';
import type { TaskState } from '../domain/tasks/task-states.ts';

/** The names by which clients, workers and the Temporal Web UI know the workflows. */
export const TASK_RUN_WORKFLOW = 'taskRun';
export const TASK_CALLBACK_WORKFLOW = 'taskCallback';

/** What a run is started with. Ids and what shapes the run; texts and secrets stay in the database. */
export type TaskRunInput = {
  executionId: string;
  /** ISO 8601. */
  createdAt: string;
  hasCallback: boolean;
  taskType: TaskType;
  rehearsal: Rehearsal | null;
  /** True where a plan lies ready that this run takes up (a rerun). */
  hasPlan?: true;
  /**
   * What the run is to be found by, beside its state and type; null where the Temporal service does not know our
   * search attributes, since naming them would stop the run.
   */
  findBy: { workspaceId: string; projectId: string } | null;
};

/** A pause made in the Temporal Web UI, as its workflow is told of it: it can act only once the pause is over. */
export type EnginePause = { pausedAt: string; by: string };

export const pauseSignal = defineSignal<[ControlRequest]>('pause');
export const continueSignal = defineSignal<[ControlRequest]>('continue');
export const cancelSignal = defineSignal<[ControlRequest]>('cancel');
export const enginePausedSignal = defineSignal<[EnginePause]>('engine-paused');

/** What an agent asks a person, sent to its run by the workflow of its step: attempt, and which call it was. */
export type ApprovalAsked = { stepId: string; attempt: number; call: number; text: string };
/** What the person answered by continuing the run, sent to the workflow that asked. */
export type ApprovalAnswered = Answer & { call: number };

export const approvalAskedSignal = defineSignal<[ApprovalAsked]>('approval-asked');
export const approvalAnsweredSignal = defineSignal<[ApprovalAnswered]>('approval-answered');

export const stateQuery = defineQuery<TaskState>('state');
export const detailQuery = defineQuery<RunView>('detail');

/** Search attributes, registered by the operator of the Temporal service (see temporal-dev.yml). */
export const workspaceAttribute = defineSearchAttributeKey('BatonWorkspace', SearchAttributeType.KEYWORD);
export const projectAttribute = defineSearchAttributeKey('BatonProject', SearchAttributeType.KEYWORD);
export const taskTypeAttribute = defineSearchAttributeKey('BatonTaskType', SearchAttributeType.KEYWORD);
export const stateAttribute = defineSearchAttributeKey('BatonState', SearchAttributeType.KEYWORD);

/** The names of all of them. */
export const SEARCH_ATTRIBUTES = [
  workspaceAttribute,
  projectAttribute,
  taskTypeAttribute,
  stateAttribute,
].map(({ name }) => name);

/** The workflow id of a callback that is sent apart from its run, since the run's workflow can not. */
export function callbackWorkflowId(executionId: string): string {
  return `${executionId}:callback`;
}

/**
 * Task queues under a prefix. `runs`: workflows and their short database writes. `agents`: work that may take
 * long. `callbacks`: requests to callers, which no slow agent may hold up. `deliveries`: everything of webhooks,
 * workflows and activities, in workers of their own.
 */
export function taskQueues(prefix: string) {
  return {
    runs: `${prefix}-runs`,
    agents: `${prefix}-agents`,
    callbacks: `${prefix}-callbacks`,
    deliveries: `${prefix}-deliveries`,
  };
}

/** The queues that belong to the one a workflow runs on. */
export function siblingQueues(runsQueue: string) {
  return taskQueues(runsQueue.replace(/-runs$/, ''));
}
