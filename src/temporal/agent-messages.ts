import type { Plan } from '../domain/tasks/plan.ts';
import type { AgentWork } from '../domain/tasks/step-work.ts';

/** The workflows of agents: children of a run, on the agents' queue, from their own bundle. */
export const AGENT_STEP_WORKFLOW = 'agentStep';
export const AGENT_PLAN_WORKFLOW = 'agentPlan';

/** Input of the workflow of a step's attempt. It sets `carried` itself when it continues as new. */
export type AgentStepInput<Carried = unknown> = { work: AgentWork; carried?: Carried };

/** The outcome of planning: a plan, no plan because the model failed permanently, or no usable plan. */
export type AgentPlanOutcome = { plan: Plan } | { error: string } | { unusable: string[] };

/** Returns the id of the workflow that runs one attempt of a step. */
export function agentStepWorkflowId({
  executionId,
  step,
  attempt,
}: Pick<AgentWork, 'executionId' | 'step' | 'attempt'>): string {
  return `${executionId}:${step.id}:${attempt}`;
}

/** Returns the id of the workflow that plans a run. */
export function agentPlanWorkflowId(executionId: string): string {
  return `${executionId}:plan`;
}
