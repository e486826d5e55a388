import { Client, Connection, type WorkflowExecutionInfo } from '@temporalio/client';
import { services } from './services.ts';

const MAX_SHOWN = 8;
const LIMIT_MS = 10_000;

/** Returns the open workflows as indented lines, for a report; empty if there are none, or the test has no Temporal. */
export async function printOpenWorkflows(): Promise<string> {
  if (process.env['BATON_TEST_SERVICES'] === undefined) return '';
  const lines = await describeOpenWorkflows().catch((error: unknown) => [`unknown: ${String(error)}`]);
  return lines.length === 0 ? '' : ['\n    open workflows:', ...lines].join('\n      ');
}

/**
 * Returns a line for each open workflow that waits for a task, newest first, with its workflow task and its activities: state,
 * attempts and times. Printed after a failed test, since a late task of Temporal is invisible otherwise.
 */
async function describeOpenWorkflows(): Promise<string[]> {
  const { temporalAddress: address, namespace } = services();
  const connection = await Connection.connect({ address, connectTimeout: LIMIT_MS });
  try {
    const client = new Client({ connection, namespace });
    return await connection.withDeadline(Date.now() + LIMIT_MS, async () => {
      const lines: string[] = [];
      for await (const info of client.workflow.list({ query: "ExecutionStatus = 'Running'" })) {
        if (lines.length === MAX_SHOWN) return [...lines, '…'];
        const line = await describe(client, info);
        if (line !== null) lines.push(line);
      }
      return lines;
    });
  } finally {
    await connection.close();
  }
}

async function describe(
  client: Client,
  { workflowId, type, startTime }: WorkflowExecutionInfo,
): Promise<string | null> {
  const { raw } = await client.workflow.getHandle(workflowId).describe();
  const { pendingWorkflowTask, pendingActivities } = raw;
  if (!pendingWorkflowTask && !pendingActivities?.length) return null;
  const waits = { workflowTask: pendingWorkflowTask ?? undefined, activities: pendingActivities ?? [] };
  return `${type} ${workflowId} started ${startTime.toISOString()}: ${JSON.stringify(waits, shorten)}`;
}

const LEFT_OUT = ['heartbeatDetails', 'priority', 'stackTrace', 'activityOptions', 'applicationFailureInfo'];

/** Shows times readably, and leaves out data. */
function shorten(key: string, value: unknown): unknown {
  if (LEFT_OUT.includes(key)) return undefined;
  if (value === null || typeof value !== 'object' || !('seconds' in value)) return value ?? undefined;
  return new Date(Number(value.seconds) * 1_000).toISOString();
}
