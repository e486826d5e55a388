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
 * Has the planner write the steps of a run. If it produces no valid plan, the given plan with the team's own steps
 * stays. `stage.child` is the planner that an earlier execution of the workflow has started.
 */
export async function shapePlan(run: Run, given: Plan, stage: StageOf<'planning'>): Promise<Planned> {
  const place = { child: stage.child };
  const shaping = askPlanner(run, given, place);
  // Runs of earlier versions have waited here until their planner was cancelled.
  if (!patched(AGENTS_OUTLIVE)) return await shaping;
  let planned: Planned | null = null;
  const failures: unknown[] = [];
  shaping.then(
    (result) => void (planned = result),
    (error: unknown) => failures.push(error),
  );
  const stageOf = () => place.child && { ...stage, child: place.child };
  await untilOrContinue(run, () => planned !== null || failures.length > 0, stageOf);
  if (planned === null) throw failures[0];
  return planned;
}

async function askPlanner(
  { input: { executionId, taskType }, agents }: Run,
  given: Plan,
  place: Parameters<Run['agents']['run']>[1],
): Promise<Planned> {
  const child = {
    workflow: AGENT_PLAN_WORKFLOW,
    workflowId: agentPlanWorkflowId(executionId),
    input: { executionId, taskType },
    summary: 'planning',
  };
  const end = await agents.run<AgentPlanOutcome>(child, place);
  if ('failed' in end) return { plan: given };
  const { result } = end;
  return 'plan' in result || 'error' in result ? result : { plan: given };
}
