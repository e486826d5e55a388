import { dataOf } from '../../domain/webhooks/event-payload.ts';
import { matchEvent } from '../../domain/webhooks/matching.ts';
import type { Subscription } from '../../domain/webhooks/webhook.ts';
import {
  countRecoverable,
  countSkippedDeliveries,
  recoverDeliveries,
  readSkippedDeliveries,
} from '../../database/webhooks/recovery.ts';
import { findWebhook, type WebhookRow } from '../../database/webhooks/webhooks.ts';
import { checkReceivesDeliveries } from '../deliveries/retry.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound } from '../http/problem.ts';
import type { RouteResponse } from '../http/route.ts';
import { DEFAULT_RECOVERY, type Recoverable } from './schema.ts';

type RecoveryRequest = {
  workspaceId: string;
  actor: string;
  id: string;
  since: Date;
  statuses: readonly Recoverable[] | undefined;
  countOnly: boolean;
};

/**
 * Resends deliveries that were held, failed or skipped since a time, through the webhook's backlog. Skipped
 * deliveries are sent only if they match the current subscriptions. Nothing is changed if Temporal is unreachable. If
 * it fails right after, the deliveries wait in the backlog. `countOnly` changes nothing and returns their number.
 * @throws Problem `invalid_state` if the webhook receives no deliveries, unless they are only counted
 */
export async function recoverWebhook(deps: Dependencies, request: RecoveryRequest): Promise<RouteResponse> {
  const { workspaceId, actor, id, since } = request;
  const statuses = request.statuses ?? DEFAULT_RECOVERY;
  const webhook = await findWebhook(deps.database, { workspaceId, id });
  if (!webhook) throw notFound('webhook');
  const others = statuses.filter((status) => status !== 'skipped');
  if (request.countOnly) {
    const skipped = statuses.includes('skipped') ? await countSkippedThatMatch(deps, webhook, since) : 0;
    const counted = await countRecoverable(deps.database, { webhookId: id, since, statuses: others });
    return { status: 200, body: { count: counted + skipped } };
  }
  checkReceivesDeliveries(webhook);
  await deps.control.ready();
  const skipped = statuses.includes('skipped')
    ? await Array.fromAsync(skippedThatMatch(deps, webhook, { since, subscriptions: webhook.events }))
    : [];
  const count = await recoverDeliveries(
    deps.database,
    {
      workspaceId,
      webhookId: id,
      since,
      statuses: others,
      skipped,
      actor,
      now: deps.clock(),
    },
    checkReceivesDeliveries,
  );
  if (count === null) throw notFound('webhook');
  if (count > 0) await drain(deps, id);
  return { status: 202, body: { count } };
}

/** Counts the skipped deliveries that a recovery would send. Only filters need the payloads. */
async function countSkippedThatMatch(deps: Dependencies, webhook: WebhookRow, since: Date): Promise<number> {
  const events = webhook.events.flatMap(({ event, filters }) => (filters.length === 0 ? [event] : []));
  const filtered = webhook.events.filter(({ filters }) => filters.length > 0);
  let count = await countSkippedDeliveries(deps.database, { webhookId: webhook.id, since, events });
  for await (const _ of skippedThatMatch(deps, webhook, { since, subscriptions: filtered })) count += 1;
  return count;
}

/** Yields the ids of deliveries skipped since a time that match these subscriptions. */
async function* skippedThatMatch(
  { database }: Dependencies,
  { id: webhookId }: WebhookRow,
  { since, subscriptions }: { since: Date; subscriptions: readonly Subscription[] },
): AsyncGenerator<string> {
  const events = subscriptions.map(({ event }) => event);
  for await (const batch of readSkippedDeliveries(database, { webhookId, since, events })) {
    for (const { id, event, body } of batch)
      if (matchEvent(subscriptions, { event, data: dataOf(body) }).match === 'send') yield id;
  }
}

async function drain(deps: Dependencies, webhookId: string): Promise<void> {
  try {
    await deps.deliveryControl.drainBacklog(webhookId);
  } catch (error) {
    deps.log.warn({ err: error, webhook_id: webhookId }, 'draining a backlog failed; will retry');
  }
}
