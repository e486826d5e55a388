import { isDeepStrictEqual } from 'node:util';
import {
  ScheduleAlreadyRunning,
  ScheduleOverlapPolicy,
  type Client,
  type ScheduleDescription,
  type ScheduleOptions,
} from '@temporalio/client';
import { MAINTENANCE_WORKFLOW, retentionScheduleId, type MaintenanceInput } from './delivery-messages.ts';
import { withinDeadline } from './deadlines.ts';
import { taskQueues } from './task-messages.ts';

const SCHEDULE_CALL_LIMIT_MS = 10_000;
/** An attempt takes 30 s at most. The rest is for recording it. */
const SETTLE_SECONDS = 60;

/**
 * Creates the Schedule that removes old rows every hour, or updates an existing one. `taskQueue` is the prefix of the
 * task queues and part of the Schedule's id.
 * @throws if Temporal is unreachable or has no Schedules
 */
export async function ensureRetentionSchedule(client: Client, taskQueue: string): Promise<void> {
  const scheduleId = retentionScheduleId(taskQueue);
  const { spec, action, policies } = scheduleOf(scheduleId, taskQueue);
  await withinDeadline(client, SCHEDULE_CALL_LIMIT_MS, async () => {
    try {
      await client.schedule.create({ scheduleId, spec, action, policies });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      const handle = client.schedule.getHandle(scheduleId);
      // Temporal can lose a pause that is made at the same moment as an update, so the Schedule is updated only if it
      // differs.
      if (isUpToDate(await handle.describe(), { spec, action, policies })) return;
      // Keeps an operator's pause and its note.
      await handle.update((previous) => ({ spec, action, policies, state: previous.state }));
    }
  });
}

function scheduleOf(scheduleId: string, taskQueue: string) {
  const input: MaintenanceInput = { settleSeconds: SETTLE_SECONDS };
  return {
    spec: { intervals: [{ every: 3_600_000 }] },
    action: {
      type: 'startWorkflow',
      workflowType: MAINTENANCE_WORKFLOW,
      workflowId: scheduleId,
      taskQueue: taskQueues(taskQueue).deliveries,
      args: [input],
    },
    // The next hour makes up for runs that an outage skipped.
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: 600_000 },
  } satisfies Partial<ScheduleOptions>;
}

type Wanted = ReturnType<typeof scheduleOf>;

function isUpToDate({ spec, action, policies }: ScheduleDescription, wanted: Wanted): boolean {
  return isDeepStrictEqual(
    {
      spec: { intervals: spec.intervals?.map(({ every }) => ({ every })) },
      action: {
        type: action.type,
        workflowType: action.workflowType,
        workflowId: action.workflowId,
        taskQueue: action.taskQueue,
        args: action.args,
      },
      policies: { overlap: policies.overlap, catchupWindow: policies.catchupWindow },
    },
    wanted,
  );
}
