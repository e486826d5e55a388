import { randomUUIDv7 } from 'node:crypto';
import { presentDelivery } from '../../domain/webhooks/delivery-view.ts';
import { webhookStatus } from '../../domain/webhooks/webhook.ts';
import {
  findPayload,
  findDelivery,
  recordPlannedAttempt,
  type DeliveryRow,
} from '../../database/webhooks/deliveries.ts';
import { findWebhook, type WebhookRow } from '../../database/webhooks/webhooks.ts';
import { EngineUncertain } from '../../temporal/task-control.ts';
import type { AttemptInput } from '../../temporal/delivery-messages.ts';
import type { Dependencies } from '../dependencies.ts';
import { recordRequest } from '../http/audit.ts';
import { notFound, Problem, unavailable } from '../http/problem.ts';
import type { RouteResponse, Claim } from '../http/route.ts';
import { idOfClaim } from '../http/idempotency.ts';

const MAX_AHEAD_MS = 30 * 24 * 3_600_000;

type RetryRequest = {
  workspaceId: string;
  actor: string;
  id: string;
  at: Date | undefined;
  claim: Claim | null;
};

/**
 * Makes one more attempt, now or at a given time, independent of the retry schedule (docs/webhooks.md).
 * @throws Problem `invalid_state` if the delivery cannot be sent, `validation_failed` if the time is too far ahead
 */
export async function retryDelivery(
  deps: Dependencies,
  { workspaceId, actor, id, at, claim }: RetryRequest,
): Promise<RouteResponse> {
  const now = deps.clock();
  const delivery = await findDelivery(deps.database, { workspaceId, id });
  if (!delivery) throw notFound('delivery');
  const delayMs = delayOf(at, now);
  const webhook = await findWebhook(deps.database, { workspaceId, id: delivery.webhook_id });
  checkReceivesDeliveries(webhook);
  checkStatus(delivery);
  if ((await findPayload(deps.database, delivery)) === null) {
    throw new Problem('invalid_state', 'The payload of this delivery has been deleted.');
  }
  await deps.control.ready();
  await startAttempt(
    deps,
    {
      deliveryId: id,
      trigger: 'manual',
      token: claim ? idOfClaim(claim) : randomUUIDv7(),
      attempts: delivery.attempts_count,
    },
    delayMs,
  );
  await recordRequest(deps, {
    workspaceId,
    actor,
    action: 'delivery.retried',
    subject: `delivery:${id}`,
    detail: { webhook_id: webhook.id, name: webhook.name, in_ms: delayMs },
  });
  if (delayMs > 0) await recordPlannedAttempt(deps.database, delivery, new Date(now.getTime() + delayMs));
  return {
    status: 202,
    body: presentDelivery((await findDelivery(deps.database, { workspaceId, id })) ?? delivery),
  };
}

/** Starts an attempt. If the result is uncertain, it tries once more: the same token starts only one attempt. */
async function startAttempt(deps: Dependencies, input: AttemptInput, delayMs: number): Promise<void> {
  for (const isLast of [false, true]) {
    try {
      await deps.deliveryControl.attempt(input, delayMs);
      return;
    } catch (error) {
      if (!(error instanceof EngineUncertain)) throw error;
      if (isLast) throw unavailable('Temporal', error);
    }
  }
}

/** @throws Problem `invalid_state` if the webhook receives no deliveries at present */
export function checkReceivesDeliveries(webhook: WebhookRow | null): asserts webhook is WebhookRow {
  if (!webhook) throw new Problem('invalid_state', 'The webhook was deleted.');
  const status = webhookStatus({ active: webhook.active, disabled_at: webhook.disabled_at ?? null });
  if (status === 'disabled') throw new Problem('invalid_state', 'The webhook is disabled. Enable it first.');
  if (status === 'inactive')
    throw new Problem('invalid_state', 'The webhook is inactive. Activate it first.');
}

function checkStatus({ status, test }: DeliveryRow): void {
  if (test) throw new Problem('invalid_state', 'A test delivery cannot be retried. Send another test.');
  if (status === 'pending')
    throw new Problem('invalid_state', 'The first attempt of this delivery is still pending.');
  if (status === 'cancelled') throw new Problem('invalid_state', 'The delivery was cancelled.');
}

function delayOf(at: Date | undefined, now: Date): number {
  const delayMs = at ? Math.max(0, at.getTime() - now.getTime()) : 0;
  if (delayMs <= MAX_AHEAD_MS) return delayMs;
  const message = '`at` must be at most 30 days ahead.';
  throw new Problem('validation_failed', message, {
    errors: [{ pointer: '/at', code: 'not_allowed', message }],
  });
}
