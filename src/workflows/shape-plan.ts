import { CancellationScope, ChildWorkflowFailure } from '@temporalio/workflow';
import type { Plan } from '../domain/tasks/plan.ts';
import type { TaskType } from '../domain/tasks/task-run.ts';
import { runAgentChild } from './agent-child.ts';
import {
  AGENT_PLAN_WORKFLOW,
  agentPlanWorkflowId,
  type AgentPlanOutcome,
} from '../temporal/agent-messages.ts';

/**
 * Has the planner write the steps of a run. If it produces no valid plan, the given plan with the team's own steps
 * stays.
 */
export async function shapePlan(
  run: { executionId: string; taskType: TaskType },
  given: Plan,
  isPaused: () => boolean,
): Promise<{ plan: Plan } | { error: string }> {
  const child = {
    workflow: AGENT_PLAN_WORKFLOW,
    workflowId: agentPlanWorkflowId(run.executionId),
    input: { executionId: run.executionId, taskType: run.taskType },
    summary: 'planning',
  };
  try {
    const outcome = await runAgentChild<AgentPlanOutcome>(child, isPaused);
    return 'plan' in outcome || 'error' in outcome ? outcome : { plan: given };
  } catch (error) {
    if (CancellationScope.current().consideredCancelled || !(error instanceof ChildWorkflowFailure))
      throw error;
    return { plan: given };
  }
}
