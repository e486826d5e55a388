import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import { findAbandonedWebhooks } from '../database/webhooks/listeners.ts';
import { deleteRequestsBefore } from '../database/webhooks/relays.ts';
import { deleteWebhookOnly } from '../database/webhooks/webhooks.ts';
import { DELIVERY_TIMEOUT_MS, LISTENER_EXPIRY_MS } from '../domain/common/limits.ts';
import { forEachRow } from './rows.ts';

type Dependencies = { database: Database; clock: () => Date; log: Logger };

const BATCH = 100;

/**
 * Deletes webhooks of listeners that have been gone for a minute. The slow parts cancel their deliveries, which may take
 * minutes.
 */
export async function deleteAbandonedListeners({ database, clock, log }: Dependencies): Promise<void> {
  const now = clock();
  const before = new Date(now.getTime() - LISTENER_EXPIRY_MS);
  const idOf = ({ id }: { id: string }) => id;
  await forEachRow(
    await findAbandonedWebhooks(database, before, BATCH),
    idOf,
    async ({ id, workspaceId }) => {
      const which = { id, workspaceId, actor: 'system', now };
      const isDeleted = await deleteWebhookOnly(database, which, ({ listening_until: until }) =>
        Boolean(until && until < before),
      );
      if (isDeleted) log.info({ webhook_id: id }, 'deleted a webhook without a listener');
    },
  );
}

/** Deletes relayed requests whose worker died before it could delete them. */
export async function deleteOldRequests({ database, clock }: Dependencies): Promise<void> {
  await deleteRequestsBefore(database, new Date(clock().getTime() - 4 * DELIVERY_TIMEOUT_MS));
}
