import {
  ScheduleAlreadyRunning,
  ScheduleOverlapPolicy,
  type Client,
  type ScheduleOptions,
} from '@temporalio/client';
import { MAINTENANCE_WORKFLOW, retentionScheduleId, type MaintenanceInput } from './delivery-messages.ts';
import { withinDeadline } from './engine-calls.ts';
import { taskQueues } from './messages.ts';

const CALL_LIMIT_MS = 10_000;
/** An attempt takes 30 s at most; the rest is for recording it. */
const SETTLE_SECONDS = 60;

/**
 * Sees to the Schedule that starts the removal of old rows every hour; one that is there already is brought up to
 * date. `taskQueue` is the prefix of the task queues, and names the Schedule too.
 * @throws where Temporal is out of reach or has no Schedules
 */
export async function ensureRetentionSchedule(client: Client, taskQueue: string): Promise<void> {
  const scheduleId = retentionScheduleId(taskQueue);
  const { spec, action, policies } = scheduleOf(scheduleId, taskQueue);
  await withinDeadline(client, CALL_LIMIT_MS, async () => {
    try {
      await client.schedule.create({ scheduleId, spec, action, policies });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      // An operator's pause and its note stay.
      await client.schedule
        .getHandle(scheduleId)
        .update((previous) => ({ spec, action, policies, state: previous.state }));
    }
  });
}

function scheduleOf(scheduleId: string, taskQueue: string) {
  const input: MaintenanceInput = { settleSeconds: SETTLE_SECONDS };
  return {
    spec: { intervals: [{ every: '1 hour' }] },
    action: {
      type: 'startWorkflow',
      workflowType: MAINTENANCE_WORKFLOW,
      workflowId: scheduleId,
      taskQueue: taskQueues(taskQueue).deliveries,
      args: [input],
    },
    // What an outage of hours has left out, the next hour does.
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '10 min' },
  } satisfies Partial<ScheduleOptions>;
}
