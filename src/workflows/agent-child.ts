import {
  CancellationScope,
  ParentClosePolicy,
  startChild,
  workflowInfo,
  type ChildWorkflowHandle,
  type Workflow,
} from '@temporalio/workflow';
import { continueSignal, pauseSignal, queuesBeside } from '../temporal/task-messages.ts';
import { until } from './until.ts';

/** What runs beside a run: its name, its id, its input, and what the Web UI calls it. */
type Child = { workflow: string; workflowId: string; input: unknown; summary: string };

/**
 * Lets a workflow of the agents' do a part of a run, and tells it of the run's pauses. Its history is its own, so that
 * of the run stays short.
 * @throws ChildWorkflowFailure where it ended otherwise than with an answer
 */
export async function runAgentChild<Result>(
  { workflow, workflowId, input, summary }: Child,
  isPaused: () => boolean,
): Promise<Result> {
  const child = await startChild<(input: unknown) => Promise<Result>>(workflow, {
    workflowId,
    taskQueue: queuesBeside(workflowInfo().taskQueue).agents,
    args: [input],
    staticSummary: summary,
    // A run that ends lets its agents end what they are at, instead of losing them.
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

/** Tells the child of each pause of its run, and of the end of it. */
async function forwardPauses(child: ChildWorkflowHandle<Workflow>, isPaused: () => boolean): Promise<void> {
  for (let told = false; ; told = !told) {
    await until(() => isPaused() !== told);
    await child.signal(told ? continueSignal : pauseSignal, { by: 'run' });
  }
}
