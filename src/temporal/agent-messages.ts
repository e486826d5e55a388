import type { Plan } from '../domain/tasks/plan.ts';
import type { AgentWork } from '../domain/tasks/step-work.ts';

/** The workflows of agents: children of a run, on the queue of the agents, from a bundle of their own. */
export const AGENT_STEP_WORKFLOW = 'agentStep';
export const AGENT_PLAN_WORKFLOW = 'agentPlan';

/** What the workflow of a step's attempt is started with; what it carries over by itself is its own. */
export type AgentStepInput<Carried = unknown> = { work: AgentWork; carried?: Carried };

/** What becomes of planning: a plan, no plan for a reason that lies with the model, or nothing that could be used. */
export type AgentPlanOutcome = { plan: Plan } | { error: string } | { unusable: string[] };

/** The id of the workflow that does one attempt of a step. */
export function agentStepWorkflowId({
  executionId,
  step,
  attempt,
}: Pick<AgentWork, 'executionId' | 'step' | 'attempt'>): string {
  return `${executionId}:${step.id}:${attempt}`;
}

/** The id of the workflow that plans a run. */
export function agentPlanWorkflowId(executionId: string): string {
  return `${executionId}:plan`;
}
