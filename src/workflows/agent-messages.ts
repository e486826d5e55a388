import { defineSignal } from '@temporalio/workflow';
import type { AgentWork } from '../domain/step-work.ts';

/** The workflows of agents: children of a run, on the queue of the agents, from a bundle of their own. */
export const AGENT_STEP_WORKFLOW = 'agentStep';

/** What the workflow of a step's attempt is started with; what it carries over by itself is its own. */
export type AgentStepInput<Carried = unknown> = { work: AgentWork; carried?: Carried };

/** The id of the workflow that does one attempt of a step. */
export function agentStepWorkflowId({
  executionId,
  step,
  attempt,
}: Pick<AgentWork, 'executionId' | 'step' | 'attempt'>): string {
  return `${executionId}:${step.id}:${attempt}`;
}

/** An agent asks its run for a person's word before it goes on; `number` is that of the call. */
export type ApprovalAsked = { stepId: string; attempt: number; number: number; text: string };
/** What a person said, for the question of that number. */
export type ApprovalAnswered = { number: number; by: string; reason: string | null };

/** From an agent's workflow to its run. */
export const approvalAskedSignal = defineSignal<[ApprovalAsked]>('approvalAsked');
/** From a run to the agent's workflow that asked. */
export const approvalAnsweredSignal = defineSignal<[ApprovalAnswered]>('approvalAnswered');
