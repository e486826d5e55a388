import type { StepOutcome, StepWork } from '../../domain/tasks/step-work.ts';
import { AGENT_STEP_WORKFLOW, agentStepWorkflowId } from '../../temporal/agent-messages.ts';
import type { StepBackend, Dependencies } from './backend.ts';

/** Runs the step by an agent with a model, in a separate workflow. */
export const modelBackend: StepBackend = {
  async work({ step }: StepWork, dependencies: Dependencies): Promise<StepOutcome> {
    const work = dependencies.agentWork();
    const end = await dependencies.runAgent<StepOutcome>({
      workflow: AGENT_STEP_WORKFLOW,
      workflowId: agentStepWorkflowId(work),
      input: { work },
      summary: `${step.name} · ${step.agent}`,
    });
    if ('result' in end) return end.result;
    return { kind: 'failed', message: `its workflow in Temporal ended: ${end.failed}` };
  },
};
