import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import { createAttempts, type EngineTime } from '../activities/deliveries/attempts.ts';
import { createDispatchActivities } from '../activities/deliveries/dispatch.ts';
import { createWebhookLoader } from '../activities/deliveries/webhook-loader.ts';
import { createAttemptLimiter } from '../activities/deliveries/attempt-limiter.ts';
import { createResultRecorder } from '../activities/deliveries/result-recorder.ts';
import { createRelay } from '../activities/deliveries/relay.ts';
import { createRetryActivities } from '../activities/deliveries/retries.ts';
import { startNotifications } from '../database/common/notifications.ts';
import { holdOrCancelWaiting } from '../database/webhooks/waiting-deliveries.ts';
import { OutboundFailure } from '../outbound/failure.ts';
import { SealError, webhookSecretContext, type Sealing } from '../security/sealing.ts';
import { createDeliveryMetrics } from '../telemetry/event-metrics.ts';
import { createDeliveryControl } from '../temporal/delivery-control.ts';
import type { Configuration } from './configuration.ts';
import type { Foundation } from './foundation.ts';
import { outboundClientOf } from './outgoing.ts';
import { outgoingTraces } from './tracing.ts';

/** Share of the concurrent attempts that one workspace may use. */
const WORKSPACE_SHARE = 0.4;

/**
 * Opens the dependencies of webhook deliveries and returns the activities that use them.
 * @throws if the certificates or the proxy of the configuration cannot be read, or PostgreSQL is unreachable
 */
export async function openDeliveries(
  closing: AsyncDisposableStack,
  { configuration, database, telemetry, log }: Foundation,
  { client, sealing, engineTime }: { client: Client; sealing: Sealing; engineTime: EngineTime },
) {
  const metrics = telemetry.registry && createDeliveryMetrics(telemetry.registry);
  const notifications = await startNotifications(configuration.databaseUrl, log, ['relayAnswers']);
  closing.defer(() => notifications.close());
  const sender = outboundClientOf(configuration);
  closing.defer(() => sender.close());
  const control = createDeliveryControl({ client, taskQueue: configuration.taskQueue });
  const webhookLoader = createWebhookLoader(database);
  const recorder = createResultRecorder(database, ({ webhookId, at }) => {
    metrics?.onDisabled();
    log.warn({ webhook_id: webhookId, disabled_at: at }, 'webhook disabled after repeated failures');
    // Not awaited: results of other webhooks must not wait. The reconciler holds what is left after an error.
    holdOrCancelWaiting(database, webhookId).catch((error: unknown) =>
      log.warn({ err: error, webhook_id: webhookId }, 'holding deliveries failed; will retry'),
    );
    // The reconciler retries a failed start.
    control
      .notify({ webhookId, disabledAt: at.toISOString() })
      .catch((error: unknown) => log.warn({ err: error }, 'notifying admins failed; will retry'));
  });
  const relay = createRelay({
    database,
    notifications,
    onError: (error) => log.warn({ err: error }, 'deleting a relayed request failed; will retry later'),
  });
  const attempt = createAttempts({
    database,
    webhookLoader,
    limiter: createAttemptLimiter(limitsOf(configuration)),
    recorder,
    sender,
    relay,
    openSecret: secretOpener(sealing, log),
    control,
    onError: (error, what, deliveryId) => log.warn({ err: error, delivery_id: deliveryId }, what),
    traces: outgoingTraces(telemetry.tracing),
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
  return {
    ...createDispatchActivities({ database, webhookLoader, attempt, control, engineTime }),
    ...createRetryActivities({ database, attempt, engineTime }),
  };
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

function limitsOf({ attemptsAtOnce: { perWebhook, overall } }: Pick<Configuration, 'attemptsAtOnce'>) {
  return {
    perWebhook,
    perWorkspace: Math.max(perWebhook, Math.ceil(overall * WORKSPACE_SHARE)),
    overall,
  };
}
