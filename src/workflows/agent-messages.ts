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
