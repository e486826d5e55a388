import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { EngineTime } from '../activities/deliveries/attempts.ts';
import { createAttemptLimiter } from '../activities/deliveries/attempt-limiter.ts';
import { createDeliveryActivities } from '../activities/deliveries/delivery-activities.ts';
import { createRelay } from '../activities/deliveries/relay.ts';
import type { Notifications } from '../database/common/notifications.ts';
import { createDeliveryStore } from '../database/webhooks/delivery-store.ts';
import { OutboundFailure } from '../outbound/failure.ts';
import { rememberingOpened } from '../security/opened-secrets.ts';
import { SealError, webhookSecretContext, type Sealing } from '../security/sealing.ts';
import { createDeliveryMetrics } from '../telemetry/event-metrics.ts';
import { createDeliveryControl } from '../temporal/delivery-control.ts';
import type { Configuration } from './configuration.ts';
import type { Foundation } from './foundation.ts';
import { outboundClientOf } from './outgoing.ts';
import { outgoingTraces } from './tracing.ts';

/** Share of the concurrent attempts that one workspace may use. */
const WORKSPACE_SHARE = 0.4;

/** The connections of webhook deliveries. `notifications`: of the channel `relayAnswers`. */
type DeliveryConnections = {
  client: Client;
  sealing: Sealing;
  /** Default: the time of this machine. */
  engineTime?: EngineTime | undefined;
  notifications: Notifications;
  /** Default: that of the configuration. */
  attemptsAtOnce?: Configuration['attemptsAtOnce'];
};

/**
 * Opens the dependencies of webhook deliveries and returns the activities that use them, and the number of first attempts in
 * progress. Closing waits briefly for attempts in progress.
 * @throws if the certificates or the proxy of the configuration cannot be read
 */
export function openDeliveries(
  closing: AsyncDisposableStack,
  { configuration, database, telemetry, log }: Foundation,
  {
    client,
    sealing,
    engineTime = async () => Date.now(),
    notifications,
    attemptsAtOnce = configuration.attemptsAtOnce,
  }: DeliveryConnections,
) {
  const metrics = telemetry.registry && createDeliveryMetrics(telemetry.registry);
  const sender = outboundClientOf(configuration);
  closing.defer(() => sender.close());
  const control = createDeliveryControl({ client, taskQueue: configuration.taskQueue });
  const relay = createRelay({
    database,
    notifications,
    onError: (error) => log.warn({ err: error }, 'deleting a relayed request failed; will retry later'),
  });
  const deliveries = createDeliveryActivities({
    store: createDeliveryStore(database),
    control,
    engineTime,
    limiter: createAttemptLimiter(limitsOf({ attemptsAtOnce })),
    sender,
    relay,
    openSecret: rememberingOpened(secretOpener(sealing, log)),
    traces: outgoingTraces(telemetry.tracing),
    onError: (error, what, ids) => log.warn({ err: error, ...ids }, what),
    onDisabled({ webhookId, at }) {
      metrics?.onDisabled();
      log.warn({ webhook_id: webhookId, disabled_at: at }, 'webhook disabled after repeated failures');
    },
    onAttempt(made) {
      metrics?.onDeliveryAttempt(made);
      if (made.succeeded) return;
      const { delivery_id, webhook_id, trigger, number, failure, response_status } = made;
      log.info(
        { delivery_id, webhook_id, trigger, attempt: number, failure, response_status },
        'delivery attempt failed',
      );
    },
  });
  closing.defer(() => deliveries.close());
  return { activities: deliveries.activities, firstAttempts: deliveries.firstAttempts };
}

/** Returns the function that opens secrets of webhooks. Its errors end the attempt; the log gives the key. */
function secretOpener(sealing: Sealing, log: Logger) {
  return (sealed: string, webhookId: string): string => {
    try {
      return sealing.open(sealed, webhookSecretContext(webhookId));
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      log.error({ err: error, webhook_id: webhookId }, 'the secret of a webhook cannot be decrypted');
      throw new OutboundFailure(
        'secret_unreadable',
        "The webhook's secret cannot be decrypted, so nothing was sent. Set a new secret",
      );
    }
  };
}

/** Returns the limits of concurrent attempts: of a webhook, of a workspace, and of this process. */
export function limitsOf({ attemptsAtOnce: { perWebhook, overall } }: Pick<Configuration, 'attemptsAtOnce'>) {
  return {
    perWebhook,
    perWorkspace: Math.max(perWebhook, Math.ceil(overall * WORKSPACE_SHARE)),
    overall,
  };
}
