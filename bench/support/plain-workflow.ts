import { proxyActivities } from '@temporalio/workflow';
import type { plainActivities } from './plain-worker.ts';

const activities = proxyActivities<ReturnType<typeof plainActivities>>({
  startToCloseTimeout: '30 s',
  retry: { initialInterval: '1 s', backoffCoefficient: 4, maximumAttempts: 3 },
});

/** What one writes by hand on the first day: three activities, one callback, nothing recorded anywhere else. */
export async function plainTask(input: { id: string; url: string }): Promise<void> {
  for (const step of [1, 2, 3]) await activities.step({ id: input.id, step });
  await activities.callback(input);
}

/** The least a durable workflow can be. */
export async function bareTask(): Promise<void> {}
