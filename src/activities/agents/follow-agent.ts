import { setTimeout as wait } from 'node:timers/promises';
import { CancelledFailure, Context } from '@temporalio/activity';
import {
  WorkflowFailedError,
  WorkflowNotFoundError,
  type Client,
  type WorkflowHandle,
} from '@temporalio/client';
import { startHeartbeat } from '../heartbeat.ts';

export type FollowActivities = ReturnType<typeof createFollowActivities>;

/** How the workflow of an agent ended: with a result, or without one. */
export type FollowedEnd<Result = unknown> = { result: Result } | { failed: string };

/** How often a workflow is checked, in milliseconds. */
const INTERVAL_MS = 1_000;

/** Creates the activity that follows agents of runs that continue as new executions. */
export function createFollowActivities(client: Client) {
  return {
    /**
     * Waits for the end of an agent's workflow. Checks it again and again: a call that waits for the end would not end with
     * the activity, since the connection of a worker cannot abort calls, and the worker could not shut down.
     */
    async followAgent({ workflowId }: { workflowId: string }): Promise<FollowedEnd> {
      using _heartbeat = startHeartbeat();
      const { cancellationSignal: signal } = Context.current();
      const agent = client.workflow.getHandle(workflowId);
      try {
        while (await isOpen(agent)) await wait(INTERVAL_MS, undefined, { signal });
        return { result: await agent.result() };
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof WorkflowNotFoundError) return { failed: 'deleted' };
        if (!(error instanceof WorkflowFailedError)) throw error;
        return {
          failed:
            error.cause instanceof CancelledFailure ? 'cancelled' : (error.cause?.message ?? error.message),
        };
      }
    },
  };
}

async function isOpen(workflow: WorkflowHandle): Promise<boolean> {
  const { closeTime } = await workflow.describe();
  return closeTime === undefined;
}
