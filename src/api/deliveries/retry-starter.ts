import type { Logger } from 'pino';
import { createStartQueue } from '../../domain/common/start-queue.ts';
import type { DeliveryControl } from '../../temporal/delivery-control.ts';
import { createStarter, type Starter } from '../starter.ts';

/** Maximum number of retries that one start takes, and time between two starts in milliseconds. */
const BATCH = 100;
const REST_MS = 50;

/**
 * Creates the starter of the process's manual retries. Its items are the webhooks of stored retries: one signal for all
 * that a webhook got since the last one.
 */
export function createRetryStarter(
  control: Pick<DeliveryControl, 'makeManualRetries'>,
  log: Logger,
): Starter<string> {
  return createStarter<string>({
    async start(webhookIds) {
      await Promise.all(Array.from(new Set(webhookIds), (id) => control.makeManualRetries(id)));
    },
    concurrency: 1,
    queue: createStartQueue({ batch: BATCH, restMs: REST_MS }),
    what: 'manual retries',
    log,
  });
}
