import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { TASK_RUN_WORKFLOW, taskQueues } from './task-messages.ts';

/** What operators do with runs that Temporal knows and the database does not. `taskQueue` is the queues' prefix. */
export function createOrphanControl(client: Client, taskQueue: string) {
  return {
    /** The ids of all runs on our queue that have not ended, in batches. */
    async *openRuns(): AsyncGenerator<string[]> {
      const query =
        `TaskQueue = '${taskQueues(taskQueue).runs}' and WorkflowType = '${TASK_RUN_WORKFLOW}' ` +
        `and ExecutionStatus in ('Running', 'Paused')`;
      let batch: string[] = [];
      for await (const { workflowId } of client.workflow.list({ query })) {
        batch.push(workflowId);
        if (batch.length < 500) continue;
        yield batch;
        batch = [];
      }
      if (batch.length > 0) yield batch;
    },

    /** Terminates a run; one that has ended meanwhile is fine. */
    async end(id: string): Promise<void> {
      try {
        await client.workflow.getHandle(id).terminate('the database does not know this run');
      } catch (error) {
        if (!(error instanceof WorkflowNotFoundError)) throw error;
      }
    },
  };
}
