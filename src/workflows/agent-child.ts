import {
  CancellationScope,
  ParentClosePolicy,
  startChild,
  workflowInfo,
  type ChildWorkflowHandle,
  type Workflow,
} from '@temporalio/workflow';
import { continueSignal, pauseSignal, siblingQueues } from '../temporal/task-messages.ts';
import { until } from './until.ts';

/** A child workflow of a run. `summary` is its title in the Web UI. */
type Child = { workflow: string; workflowId: string; input: unknown; summary: string };

/**
 * Runs a child workflow of the agents and forwards the run's pauses to it. The child has its own history, so that the
 * history of the run stays short.
 * @throws ChildWorkflowFailure if the child did not return a result
 */
export async function runAgentChild<Result>(
  { workflow, workflowId, input, summary }: Child,
  isPaused: () => boolean,
): Promise<Result> {
  const child = await startChild<(input: unknown) => Promise<Result>>(workflow, {
    workflowId,
    taskQueue: siblingQueues(workflowInfo().taskQueue).agents,
    args: [input],
    staticSummary: summary,
    // When a run ends, its agents are asked to cancel, so that they can finish cleanly.
    parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
  });
  const forwarding = new CancellationScope();
  forwarding.run(() => forwardPauses(child, isPaused)).catch(() => {});
  try {
    return await child.result();
  } finally {
    forwarding.cancel();
  }
}

/** Signals each pause of the run and its end to the child. */
async function forwardPauses(child: ChildWorkflowHandle<Workflow>, isPaused: () => boolean): Promise<void> {
  for (let isChildPaused = false; ; isChildPaused = !isChildPaused) {
    await until(() => isPaused() !== isChildPaused);
    await child.signal(isChildPaused ? continueSignal : pauseSignal, { by: 'run' });
  }
}
