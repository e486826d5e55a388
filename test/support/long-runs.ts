import assert from 'node:assert/strict';
import type { WorkflowExecutionInfo } from '@temporalio/client';
import { EngineUnavailable } from '../../src/temporal/task-control.ts';
import { TASK_RUN_WORKFLOW, taskQueues, type TaskRunInput } from '../../src/temporal/task-messages.ts';
import { eventually } from './eventually.ts';
import type { Runs, Submission } from './runs.ts';

/** Submits a run that continues as a new execution from a history of `historyEvents`. */
export async function submitLong(
  runs: Runs,
  historyEvents: number,
  submission: Submission = {},
): Promise<string> {
  const id = await runs.store(submission);
  const { created_at, task_type, title, workspace_id, project_id } = await runs.row(id);
  const input: TaskRunInput = {
    executionId: id,
    createdAt: created_at.toISOString(),
    hasCallback: submission.callbackUrl !== undefined,
    taskType: task_type,
    rehearsal: submission.rehearsal ?? null,
    findBy: { workspaceId: workspace_id, projectId: project_id },
    ordersSignals: true,
    historyEvents,
  };
  await runs.client.workflow.start(TASK_RUN_WORKFLOW, {
    workflowId: id,
    taskQueue: taskQueues(runs.configuration.taskQueue).runs,
    args: [input],
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    staticSummary: title,
  });
  return id;
}

/** The executions of a run in Temporal, the first one first. */
export async function executionsOf(runs: Runs, id: string): Promise<WorkflowExecutionInfo[]> {
  const found: WorkflowExecutionInfo[] = [];
  for await (const one of runs.client.workflow.list({ query: `WorkflowId = '${id}'` })) found.push(one);
  return found.toSorted((one, other) => one.startTime.getTime() - other.startTime.getTime());
}

/** Waits until a run has had `count` executions. */
export async function continues(runs: Runs, id: string, count: number): Promise<WorkflowExecutionInfo[]> {
  return await eventually(`${id} has had ${count} executions`, async () => {
    const found = await executionsOf(runs, id);
    return found.length >= count && found;
  });
}

/** Pauses a paused run, which changes nothing but makes its history longer, until it has had `count` executions. */
export async function pauseUntilContinued(runs: Runs, id: string, count: number): Promise<void> {
  await eventually(`${count} executions`, async () => {
    await confirmed(() => runs.control.pause(id, { by: 'key:test' }));
    return (await executionsOf(runs, id)).length >= count;
  });
}

/** Repeats a command that Temporal has not confirmed in time, as a caller does after a 503. A repeat changes nothing. */
export async function confirmed<T>(command: () => Promise<T>): Promise<T> {
  const { outcome } = await eventually('Temporal confirms the command', () =>
    command().then(
      (given) => ({ outcome: given }),
      (error: unknown) => {
        if (error instanceof EngineUnavailable) return null;
        throw error;
      },
    ),
  );
  return outcome;
}

/** Asserts that a run has ended after several executions, and returns them. */
export async function assertContinued(runs: Runs, id: string): Promise<WorkflowExecutionInfo[]> {
  await runs.ends(id);
  // The list of Temporal may be late.
  const executions = await eventually('its end is listed', async () => {
    const found = await executionsOf(runs, id);
    return found.every(({ status }) => status.name !== 'RUNNING') && found;
  });
  assert.ok(executions.length > 1, 'it continues');
  assert.deepEqual(
    executions.map(({ status }) => status.name),
    [...executions.slice(1).map(() => 'CONTINUED_AS_NEW'), 'COMPLETED'],
  );
  return executions;
}

/** The feed of a run as `type step attempt` or `from → to`. Fails if a `seq` is missing or there twice. */
export async function feedOf(runs: Runs, id: string): Promise<string[]> {
  const events = await runs.events(id);
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, index) => index + 1),
  );
  return events.map(({ type, data }) => {
    const step = data['step'] as { name: string; attempt: number } | undefined;
    if (step) return `${type} ${step.name} ${step.attempt}`;
    return type === 'state.changed' ? `${String(data['from'])} → ${String(data['to'])}` : type;
  });
}
