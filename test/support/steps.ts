import type { StepOutcome } from '../../src/domain/tasks/step-work.ts';
import { eventually } from './eventually.ts';
import type { Runs } from './runs.ts';

const DONE: StepOutcome = { kind: 'completed', result: { summary: 'Done.', usage: null, message: null } };

/** Waits until a simulated step is in progress in Temporal, some time after it is recorded. Returns its activity. */
export async function stepInProgress({ client }: Pick<Runs, 'client'>, id: string) {
  return await eventually('a step is in progress', async () => {
    const { runId, raw } = await client.workflow.getHandle(id).describe();
    const activityId = raw.pendingActivities?.[0]?.activityId;
    return activityId ? { workflowId: id, runId, activityId } : null;
  });
}

/** Completes the simulated step that is in progress, however long it would still take. */
export async function endStep(runs: Pick<Runs, 'client'>, id: string): Promise<void> {
  await runs.client.activity.complete(await stepInProgress(runs, id), DONE);
}
