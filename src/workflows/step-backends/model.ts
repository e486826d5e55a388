import {
  CancellationScope,
  ChildWorkflowFailure,
  isCancellation,
  ParentClosePolicy,
  startChild,
  workflowInfo,
  type ChildWorkflowHandle,
  type Workflow,
} from '@temporalio/workflow';
import type { StepOutcome, StepWork } from '../../domain/step-work.ts';
import { AGENT_STEP_WORKFLOW, agentStepWorkflowId, type AgentStepInput } from '../agent-messages.ts';
import { continueSignal, pauseSignal, queuesBeside } from '../messages.ts';
import { until } from '../until.ts';
import type { StepBackend, Surroundings } from './backend.ts';

type AgentStep = (input: AgentStepInput) => Promise<StepOutcome>;

/**
 * Lets an agent with a model do the work, in a workflow of its own: a long conversation is that one's history, and
 * it may go on in a new one, while the history of the run stays short.
 */
export const modelBackend: StepBackend = {
  async work({ step }: StepWork, around: Surroundings): Promise<StepOutcome> {
    const work = around.agentWork();
    const child = await startChild<AgentStep>(AGENT_STEP_WORKFLOW, {
      workflowId: agentStepWorkflowId(work),
      taskQueue: queuesBeside(workflowInfo().taskQueue).agents,
      args: [{ work }],
      staticSummary: `${step.name} · ${step.agent}`,
      // A run that ends lets its agents end what they are at, instead of losing them.
      parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
    });
    const forwarding = new CancellationScope();
    forwarding.run(() => forwardPauses(child, around)).catch(() => {});
    try {
      return await child.result();
    } catch (error) {
      if (CancellationScope.current().consideredCancelled || !(error instanceof ChildWorkflowFailure))
        throw error;
      return { kind: 'failed', message: `its workflow in Temporal ended: ${reasonOf(error)}` };
    } finally {
      forwarding.cancel();
    }
  },
};

/** Tells the agent of each pause of its run, and of the end of it. */
async function forwardPauses(
  child: ChildWorkflowHandle<Workflow>,
  { isPaused }: Surroundings,
): Promise<void> {
  for (let told = false; ; told = !told) {
    await until(() => isPaused() !== told);
    await child.signal(told ? continueSignal : pauseSignal, { by: 'run' });
  }
}

function reasonOf({ cause, message }: ChildWorkflowFailure): string {
  return isCancellation(cause) ? 'cancelled' : (cause?.message ?? message);
}
