import { randomUUIDv7 } from 'node:crypto';
import { presentDelivery } from '../../domain/webhooks/delivery-view.ts';
import { webhookStatus } from '../../domain/webhooks/webhook.ts';
import { derivedUuid, nextUuid } from '../../database/common/ids.ts';
import { findPayload, findDelivery, type DeliveryRow } from '../../database/webhooks/deliveries.ts';
import { requestManualRetry } from '../../database/webhooks/manual-retries.ts';
import {
  cancelScheduledRetry,
  hasRetryAt,
  scheduleRetry,
  unscheduleRetry,
} from '../../database/webhooks/scheduled-retries.ts';
import { notifyDeliveryChanged } from '../../database/webhooks/watched-webhooks.ts';
import { findWebhook, type WebhookRow } from '../../database/webhooks/webhooks.ts';
import { EngineUnavailable, EngineUncertain } from '../../temporal/task-control.ts';
import { MAX_RETRY_AHEAD_DAYS } from '../../domain/common/limits.ts';
import type { AttemptInput } from '../../temporal/delivery-messages.ts';
import type { Dependencies } from '../dependencies.ts';
import { recordRequest } from '../http/audit.ts';
import { notFound, Problem, unavailable } from '../http/problem.ts';
import type { RouteResponse, Claim } from '../http/route.ts';
import { idOfClaim } from '../http/idempotency.ts';

const MAX_AHEAD_MS = MAX_RETRY_AHEAD_DAYS * 24 * 3_600_000;

type RetryRequest = {
  workspaceId: string;
  actor: string;
  id: string;
  at: Date | undefined;
  claim: Claim | null;
};

/**
 * Makes one more attempt, now or at a given time, independent of the retry schedule (docs/webhooks.md). A retry at another
 * time replaces the scheduled one; a repeat of the same time changes nothing. A retry that is due now is accepted once it is
 * stored.
 * @throws Problem `invalid_state` if the delivery cannot be sent, `validation_failed` if the time is too far ahead
 */
export async function retryDelivery(
  deps: Dependencies,
  { workspaceId, actor, id, at, claim }: RetryRequest,
): Promise<RouteResponse> {
  const now = deps.clock();
  const delivery = await findDelivery(deps.database, { workspaceId, id });
  if (!delivery) throw notFound('delivery');
  const current = async () => ({
    status: 202,
    body: presentDelivery((await findDelivery(deps.database, { workspaceId, id })) ?? delivery),
  });
  if (at && (await hasRetryAt(deps.database, id, at))) return await current();
  const delayMs = delayOf(at, now);
  const webhook = await findWebhook(deps.database, { workspaceId, id: delivery.webhook_id });
  checkReceivesDeliveries(webhook);
  checkStatus(delivery);
  if ((await findPayload(deps.database, delivery)) === null) {
    throw new Problem('invalid_state', 'The payload of this delivery has been deleted.');
  }
  await deps.control.ready();
  const attempts = delivery.attempts_count;
  const entry = {
    workspaceId,
    actor,
    action: 'delivery.retried',
    subject: `delivery:${id}`,
    detail: { webhook_id: webhook.id, name: webhook.name, in_ms: delayMs },
  } as const;
  if (at && delayMs > 0) {
    const input = { deliveryId: id, trigger: 'manual', attempts } as const;
    if (!(await scheduleAttempt(deps, input, at, delayMs))) return await current();
    await notifyDeliveryChanged(deps.database, webhook.id, id);
    await recordRequest(deps, entry);
  } else {
    const retry = { deliveryId: id, token: tokenOf(id, at, claim), attempts };
    await requestManualRetry(deps.database, retry, webhook.id, { ...entry, at: now });
    deps.retryStarter.add(webhook.id);
  }
  return await current();
}

/** Cancels the scheduled retry of a delivery. Does nothing if it was cancelled before. */
export async function cancelRetry(
  deps: Dependencies,
  { workspaceId, actor, id }: Pick<RetryRequest, 'workspaceId' | 'actor' | 'id'>,
): Promise<RouteResponse> {
  const delivery = await findDelivery(deps.database, { workspaceId, id });
  if (!delivery) throw notFound('delivery');
  const outcome = await cancelScheduledRetry(deps.database, delivery, {
    workspaceId,
    actor,
    action: 'delivery.retry_cancelled',
    subject: `delivery:${id}`,
    detail: { webhook_id: delivery.webhook_id },
    at: deps.clock(),
  });
  if (outcome.kind === 'none') throw new Problem('invalid_state', 'No retry of this delivery is scheduled.');
  if (outcome.kind === 'started')
    throw new Problem('invalid_state', 'The scheduled retry has already started.');
  if (outcome.kind === 'cancelled') await endAttempt(deps, outcome.token, 'the retry was cancelled');
  return { status: 204 };
}

/**
 * Stores a scheduled attempt and starts its timer. Returns false, without a change, if there is one at this time. If
 * Temporal does not accept the timer, the retry that was scheduled before stays.
 */
async function scheduleAttempt(
  deps: Dependencies,
  input: Omit<AttemptInput, 'token'> & { attempts: number },
  at: Date,
  delayMs: number,
): Promise<boolean> {
  const retry = { deliveryId: input.deliveryId, token: nextUuid(), at, attempts: input.attempts };
  const scheduled = await scheduleRetry(deps.database, retry);
  if (scheduled === 'known') return false;
  const { replaced } = scheduled;
  try {
    await startAttempt(deps, { ...input, token: retry.token, scheduled: true }, delayMs);
  } catch (error) {
    await unscheduleRetry(deps.database, { ...retry, replaced });
    throw error;
  }
  if (replaced !== null) await endAttempt(deps, replaced, 'the retry was scheduled for another time');
  return true;
}

/** Ends a timer that the database has no use for any more. If that fails, the timer will do nothing when it is due. */
async function endAttempt({ deliveryControl }: Dependencies, token: string, reason: string): Promise<void> {
  await deliveryControl.endAttempt(token, reason).catch((error: unknown) => {
    if (!(error instanceof EngineUnavailable)) throw error;
  });
}

/**
 * Returns the token of a retry that is due now. Requests with the same time in the past have the same one, so that only
 * the first one counts.
 */
function tokenOf(deliveryId: string, at: Date | undefined, claim: Claim | null): string {
  if (at) return derivedUuid(deliveryId, `${deliveryId}:retry:${at.toISOString()}`);
  return claim ? idOfClaim(claim) : randomUUIDv7();
}

/** Starts the timer of an attempt. If the result is uncertain, it tries once more: the same token starts only one. */
async function startAttempt(deps: Dependencies, input: AttemptInput, delayMs: number): Promise<void> {
  for (const isLast of [false, true]) {
    try {
      return await deps.deliveryControl.attempt(input, delayMs);
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
  const message = `\`at\` must be at most ${MAX_RETRY_AHEAD_DAYS} days ahead.`;
  throw new Problem('validation_failed', message, {
    errors: [{ pointer: '/at', code: 'not_allowed', message }],
  });
}
