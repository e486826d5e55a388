import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { createNotifyActivities } from '../src/activities/notify-admins.ts';
import { createRetentionActivities } from '../src/activities/retention.ts';
import type { Configuration } from '../src/configuration.ts';
import type { Database } from '../src/database/connect.ts';
import { ensureRetentionSchedule } from '../src/workflows/control-maintenance.ts';
import { mailerOf } from './mailer.ts';

/** What a delivery worker does beside deliveries: mails admins, and removes what is kept no longer. */
export function createUpkeep(configuration: Configuration, database: Database) {
  const { keptDays, baseUrl, port } = configuration;
  const mailer = mailerOf(configuration);
  return {
    activities: {
      ...createNotifyActivities({ database, mailer, baseUrl: baseUrl ?? `http://localhost:${port}` }),
      ...createRetentionActivities({ database, kept: keptDays }),
    },
    close: () => mailer?.close(),
  };
}

/** Sees to the Schedule of the removal; a worker works on without it, and says so. */
export async function scheduleRetention(client: Client, taskQueue: string, log: Logger): Promise<void> {
  try {
    await ensureRetentionSchedule(client, taskQueue);
  } catch (error) {
    log.warn({ err: error }, 'the Schedule of the retention can not be set up: nothing old is removed');
  }
}
