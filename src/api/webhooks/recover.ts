import { matchEvent } from '../../domain/webhooks/matching.ts';
import {
  countRecoverable,
  recoverDeliveries,
  readSkippedDeliveries,
} from '../../database/webhooks/recovery.ts';
import { findWebhook, type WebhookRow } from '../../database/webhooks/webhooks.ts';
import { checkOpen } from '../deliveries/retry.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound } from '../http/problem.ts';
import type { Answer } from '../http/route.ts';
import { dataOf } from './preview.ts';
import { DEFAULT_RECOVERY, type Recoverable } from './schema.ts';

type Wish = {
  workspaceId: string;
  actor: string;
  id: string;
  since: Date;
  statuses: readonly Recoverable[] | undefined;
  countOnly: boolean;
};

/**
 * Has what was held, failed or skipped since a time sent through the webhook's backlog. Of the skipped ones only
 * those go that the subscriptions of today want. With Temporal out of reach nothing is changed; if it goes away right
 * after, the deliveries wait in the backlog until it is back. `countOnly` changes nothing and says how many they are.
 * @throws Problem `invalid_state` while nothing is sent to the webhook, unless they are only counted
 */
export async function recoverWebhook(deps: Dependencies, wish: Wish): Promise<Answer> {
  const { workspaceId, actor, id, since } = wish;
  const statuses = wish.statuses ?? DEFAULT_RECOVERY;
  const webhook = await findWebhook(deps.database, { workspaceId, id });
  if (!webhook) throw notFound('webhook');
  const others = statuses.filter((status) => status !== 'skipped');
  if (wish.countOnly) {
    const skipped = statuses.includes('skipped') ? await skippedButWanted(deps, webhook, since) : [];
    const counted = await countRecoverable(deps.database, { webhookId: id, since, statuses: others });
    return { status: 200, body: { count: counted + skipped.length } };
  }
  checkOpen(webhook);
  await deps.control.ready();
  const skipped = statuses.includes('skipped') ? await skippedButWanted(deps, webhook, since) : [];
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
    checkOpen,
  );
  if (count === null) throw notFound('webhook');
  if (count > 0) await drain(deps, id);
  return { status: 202, body: { count } };
}

/** Ids of the deliveries skipped since a time that the subscriptions of today want. */
async function skippedButWanted(deps: Dependencies, webhook: WebhookRow, since: Date): Promise<string[]> {
  const ids: string[] = [];
  for await (const batch of readSkippedDeliveries(deps.database, { webhookId: webhook.id, since })) {
    const wanted = batch.filter(
      ({ event, body }) => matchEvent(webhook.events, { event, data: dataOf(body) }).match === 'send',
    );
    ids.push(...wanted.map((delivery) => delivery.id));
  }
  return ids;
}

async function drain(deps: Dependencies, webhookId: string): Promise<void> {
  try {
    await deps.deliveryControl.drainBacklog(webhookId);
  } catch (error) {
    deps.log.warn({ err: error, webhook_id: webhookId }, 'draining a backlog failed; will retry');
  }
}
