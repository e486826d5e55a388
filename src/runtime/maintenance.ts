import type { Client } from '@temporalio/client';
import { createNotifyActivities } from '../activities/notify-admins.ts';
import { createRetentionActivities } from '../activities/retention.ts';
import { ensureRetentionSchedule } from '../temporal/retention-schedule.ts';
import type { Foundation } from './foundation.ts';
import { mailerOf } from './outgoing.ts';

/** Returns the other activities of a delivery worker: mails to admins, and retention. */
export async function openMaintenance(
  closing: AsyncDisposableStack,
  { configuration, database }: Pick<Foundation, 'configuration' | 'database'>,
) {
  const { keptDays, baseUrl, port } = configuration;
  const mailer = await mailerOf(configuration);
  closing.defer(() => mailer?.close());
  return {
    ...createNotifyActivities({ database, mailer, baseUrl: baseUrl ?? `http://localhost:${port}` }),
    ...createRetentionActivities({ database, kept: keptDays }),
  };
}

/** Sets up the retention Schedule. If this fails, the worker continues and logs a warning. */
export async function scheduleRetention(
  client: Client,
  { configuration, log }: Pick<Foundation, 'configuration' | 'log'>,
): Promise<void> {
  try {
    await ensureRetentionSchedule(client, configuration.taskQueue);
  } catch (error) {
    log.warn({ err: error }, 'cannot set up the retention Schedule: old data is not deleted');
  }
}
