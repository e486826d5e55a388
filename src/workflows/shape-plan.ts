import { patched } from '@temporalio/workflow';
import type { Plan } from '../domain/tasks/plan.ts';
import {
  AGENT_PLAN_WORKFLOW,
  agentPlanWorkflowId,
  type AgentPlanOutcome,
} from '../temporal/agent-messages.ts';
import { AGENTS_OUTLIVE } from './agent-child.ts';
import type { Planned, StageOf } from './carried-run.ts';
import { untilOrContinue } from './continuation.ts';
import type { Run } from './run.ts';

/**
 * Lets the planner write the steps of a run. Without a valid plan of the planner, returns the given plan with the steps of
 * the team. `stage.child` is the planner that an earlier execution of the workflow has started.
 */
export async function shapePlan(run: Run, given: Plan, stage: StageOf<'planning'>): Promise<Planned> {
  const slot = { child: stage.child };
  const shaping = askPlanner(run, given, slot);
  // Runs of earlier versions have waited here until their planner was cancelled.
  if (!patched(AGENTS_OUTLIVE)) return await shaping;
  let planned: Planned | null = null;
  const failures: unknown[] = [];
  shaping.then(
    (result) => void (planned = result),
    (error: unknown) => failures.push(error),
  );
  const stageOf = () => slot.child && { ...stage, child: slot.child };
  await untilOrContinue(run, () => planned !== null || failures.length > 0, stageOf);
  if (planned === null) throw failures[0];
  return planned;
}

async function askPlanner(
  { input: { executionId, taskType }, agents }: Run,
  given: Plan,
  slot: Parameters<Run['agents']['run']>[1],
): Promise<Planned> {
  const child = {
    workflow: AGENT_PLAN_WORKFLOW,
    workflowId: agentPlanWorkflowId(executionId),
    input: { executionId, taskType },
    summary: 'planning',
  };
  const end = await agents.run<AgentPlanOutcome>(child, slot);
  if ('failed' in end) return { plan: given };
  const { result } = end;
  return 'plan' in result || 'error' in result ? result : { plan: given };
}
