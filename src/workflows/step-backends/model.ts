import { CancellationScope, ChildWorkflowFailure, isCancellation } from '@temporalio/workflow';
import type { StepOutcome, StepWork } from '../../domain/tasks/step-work.ts';
import { runAgentChild } from '../agent-child.ts';
import { AGENT_STEP_WORKFLOW, agentStepWorkflowId } from '../../temporal/agent-messages.ts';
import type { StepBackend, Dependencies } from './backend.ts';

/** Runs the step by an agent with a model, in a separate workflow. */
export const modelBackend: StepBackend = {
  async work({ step }: StepWork, dependencies: Dependencies): Promise<StepOutcome> {
    const work = dependencies.agentWork();
    const child = {
      workflow: AGENT_STEP_WORKFLOW,
      workflowId: agentStepWorkflowId(work),
      input: { work },
      summary: `${step.name} · ${step.agent}`,
    };
    try {
      return await runAgentChild<StepOutcome>(child, dependencies.isPaused);
    } catch (error) {
      if (CancellationScope.current().consideredCancelled || !(error instanceof ChildWorkflowFailure))
        throw error;
      return { kind: 'failed', message: `its workflow in Temporal ended: ${reasonOf(error)}` };
    }
  },
};

function reasonOf({ cause, message }: ChildWorkflowFailure): string {
  return isCancellation(cause) ? 'cancelled' : (cause?.message ?? message);
}
