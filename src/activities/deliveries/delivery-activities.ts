import type { Disabled } from '../../database/webhooks/delivery-results.ts';
import type { DeliveryStore } from '../../database/webhooks/delivery-store.ts';
import type { DeliveryControl } from '../../temporal/delivery-control.ts';
import type { AttemptLimiter } from './attempt-limiter.ts';
import { createAttempts, type AttemptDependencies, type EngineTime } from './attempts.ts';
import { createDispatchActivities } from './dispatch.ts';
import { createFirstAttempts } from './first-attempts.ts';
import { createManualRetryActivities } from './manual-retries.ts';
import type { PostDependencies } from './post.ts';
import { createResultRecorder } from './result-recorder.ts';
import { createRetryActivities } from './retries.ts';
import { createWebhookLoader } from './webhook-loader.ts';

/** Dependencies of the activities of a delivery worker. */
export type DeliveryActivityDependencies = PostDependencies &
  Pick<AttemptDependencies, 'onAttempt'> & {
    store: DeliveryStore;
    control: Pick<DeliveryControl, 'startRetries' | 'drainBacklog' | 'notify'>;
    engineTime: EngineTime;
    limiter: AttemptLimiter;
    /** Called for an error whose work the reconciler repeats. `ids` name the delivery or the webhook. */
    onError: (error: unknown, what: string, ids: { delivery_id?: string; webhook_id?: string }) => void;
    /** Called after a webhook was disabled. */
    onDisabled: (disabled: Disabled) => void;
  };

/**
 * Composes the activities of a delivery worker, which share one recorder. `firstAttempts` counts those in progress. `close`
 * waits briefly for attempts that outlive their activity.
 */
export function createDeliveryActivities(deps: DeliveryActivityDependencies) {
  const { store, control, engineTime, onError } = deps;
  const webhookLoader = createWebhookLoader(store);
  const recorder = createResultRecorder(store, (disabled) => {
    const { webhookId, at } = disabled;
    const failed = (what: string) => (error: unknown) => onError(error, what, { webhook_id: webhookId });
    deps.onDisabled(disabled);
    // Not awaited: results of other webhooks must not wait. The reconciler holds what is left after an error.
    store.holdOrCancelWaiting(webhookId).catch(failed('holding deliveries failed; will retry'));
    // The reconciler retries a failed start.
    control
      .notify({ webhookId, disabledAt: at.toISOString() })
      .catch(failed('notifying admins failed; will retry'));
  });
  const attempt = createAttempts({
    ...deps,
    webhookLoader,
    recorder,
    onError: (error, what, deliveryId) => onError(error, what, { delivery_id: deliveryId }),
  });
  const firstAttempts = createFirstAttempts({ store, attempt, control });
  return {
    activities: {
      ...createDispatchActivities({ store, firstAttempts, webhookLoader, engineTime }),
      ...createRetryActivities({ store, attempt, engineTime }),
      ...createManualRetryActivities({ store, attempt, engineTime }),
    },
    firstAttempts: firstAttempts.inProgress,
    close: firstAttempts.close,
  };
}
