import { readFileSync } from 'node:fs';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { createNotifyActivities } from '../src/activities/notify-admins.ts';
import { createRetentionActivities } from '../src/activities/retention.ts';
import type { Configuration } from '../src/configuration.ts';
import type { Database } from '../src/database/connect.ts';
import { createMailer } from '../src/mail/mailer.ts';
import { ensureRetentionSchedule } from '../src/workflows/control-maintenance.ts';

/** What a delivery worker does beside deliveries: mails admins, and removes what is kept no longer. */
export function createUpkeep(configuration: Configuration, database: Database) {
  const { mail, keptDays, outboundCaFile, baseUrl, port } = configuration;
  const trusted = outboundCaFile === null ? {} : { ca: readFileSync(outboundCaFile, 'utf8') };
  const mailer = mail === null ? null : createMailer({ ...mail, ...trusted });
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
