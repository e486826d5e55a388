import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { isExecutionId, TASK_RUN_WORKFLOW, taskQueues } from './task-messages.ts';

/** Operations on runs that Temporal has and the database does not. `taskQueue` is the prefix of the task queues. */
export function createOrphanControl(client: Client, taskQueue: string) {
  return {
    /** Yields the ids of all open runs on the queue, in batches of 500. */
    async *openRuns(): AsyncGenerator<string[]> {
      const query =
        `TaskQueue = '${taskQueues(taskQueue).runs}' and WorkflowType = '${TASK_RUN_WORKFLOW}' ` +
        `and ExecutionStatus in ('Running', 'Paused')`;
      let batch: string[] = [];
      for await (const { workflowId } of client.workflow.list({ query })) {
        if (isExecutionId(workflowId)) batch.push(workflowId);
        if (batch.length < 500) continue;
        yield batch;
        batch = [];
      }
      if (batch.length > 0) yield batch;
    },

    /** Terminates a run. Does nothing if it has already ended. */
    async end(id: string): Promise<void> {
      try {
        await client.workflow.getHandle(id).terminate('the database does not know this run');
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
    },
  };
}
