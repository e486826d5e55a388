import { proxyActivities } from '@temporalio/workflow';
import type { plainActivities } from './plain-worker.ts';

const activities = proxyActivities<ReturnType<typeof plainActivities>>({
  startToCloseTimeout: '30 s',
  retry: { initialInterval: '1 s', backoffCoefficient: 4, maximumAttempts: 3 },
});

/** A minimal hand-written workflow: three steps and one callback, without any other records. */
export async function plainTask(input: { id: string; url: string }): Promise<void> {
  for (const step of [1, 2, 3]) await activities.step({ id: input.id, step });
  await activities.callback(input);
}

/** The smallest possible workflow. */
export async function bareTask(): Promise<void> {}
