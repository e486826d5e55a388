import { Client, Connection, type WorkflowExecutionInfo } from '@temporalio/client';
import { services } from './services.ts';

const MAX_SHOWN = 30;
const LIMIT_MS = 10_000;

/** Returns the open workflows as indented lines, for a report; empty if there are none, or the test has no Temporal. */
export async function printOpenWorkflows(): Promise<string> {
  if (process.env['BATON_TEST_SERVICES'] === undefined) return '';
  const lines = await describeOpenWorkflows().catch((error: unknown) => [`unknown: ${String(error)}`]);
  return lines.length === 0 ? '' : ['\n    open workflows:', ...lines].join('\n      ');
}

/**
 * Returns a line for each open workflow, newest first, with what it waits for: its workflow task and its activities, each
 * with state, attempts and time. Printed after a failed test, since a late task of Temporal is invisible otherwise.
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
        lines.push(await describe(client, info));
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
): Promise<string> {
  const { raw } = await client.workflow.getHandle(workflowId).describe();
  const { pendingWorkflowTask, pendingActivities } = raw;
  const waits = { workflowTask: pendingWorkflowTask ?? undefined, activities: pendingActivities ?? [] };
  return `${type} ${workflowId} started ${startTime.toISOString()}: ${JSON.stringify(waits, shorten)}`;
}

/** Shows times readably, and leaves out data. */
function shorten(key: string, value: unknown): unknown {
  if (key === 'heartbeatDetails' || key === 'priority') return undefined;
  if (value === null || typeof value !== 'object' || !('seconds' in value)) return value ?? undefined;
  return new Date(Number(value.seconds) * 1_000).toISOString();
}
