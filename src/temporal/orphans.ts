import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { chunksOf } from '../domain/common/chunks.ts';
import { UUID } from '../domain/common/text.ts';
import { TASK_RUN_WORKFLOW, taskQueues } from './task-messages.ts';

/** Operations on runs that Temporal has and the database does not. `taskQueue` is the prefix of the task queues. */
export function createOrphanControl(client: Client, taskQueue: string) {
  return {
    /** Yields the ids of all open runs on the queue, in batches of up to 500. */
    async *openRuns(): AsyncGenerator<string[]> {
      const query =
        `TaskQueue = '${taskQueues(taskQueue).runs}' and WorkflowType = '${TASK_RUN_WORKFLOW}' ` +
        `and ExecutionStatus in ('Running', 'Paused')`;
      for await (const executions of chunksOf(client.workflow.list({ query }), 500)) {
        // Other programs may use the namespace as well. The id of a run is a UUID.
        yield executions.map(({ workflowId }) => workflowId).filter((id) => UUID.test(id));
      }
    },

    /** Terminates a run. Does nothing if it has already ended. */
    async end(id: string): Promise<void> {
      try {
        await client.workflow.getHandle(id).terminate('the run is not in the database');
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
    },
  };
}
