import { CancelledFailure, Context } from '@temporalio/activity';
import { WorkflowFailedError, WorkflowNotFoundError, type Client } from '@temporalio/client';
import { startHeartbeat } from '../heartbeat.ts';

export type FollowActivities = ReturnType<typeof createFollowActivities>;

/** How the workflow of an agent ended: with a result, or without one. */
export type FollowedEnd<Result = unknown> = { result: Result } | { failed: string };

/** Creates the activity that follows agents of runs that continue as new executions. */
export function createFollowActivities(client: Client) {
  return {
    /** Waits for the end of an agent's workflow. */
    async followAgent({ workflowId }: { workflowId: string }): Promise<FollowedEnd> {
      using _heartbeat = startHeartbeat();
      const { cancellationSignal } = Context.current();
      try {
        return await client.withAbortSignal(cancellationSignal, async () => ({
          result: await client.workflow.getHandle(workflowId).result(),
        }));
      } catch (error) {
        cancellationSignal.throwIfAborted();
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
