import type { StepOutcome } from '../../src/domain/tasks/step-work.ts';
import type { Runs } from './runs.ts';

const DONE: StepOutcome = { kind: 'completed', result: { summary: 'Done.', usage: null, message: null } };

/** Completes the simulated step that is in progress, however long it would still take. */
export async function endStep({ client }: Pick<Runs, 'client'>, id: string): Promise<void> {
  const { runId, raw } = await client.workflow.getHandle(id).describe();
  const activityId = raw.pendingActivities?.[0]?.activityId;
  if (!activityId) throw new Error(`${id} has no step in progress`);
  await client.activity.complete({ workflowId: id, runId, activityId }, DONE);
}
