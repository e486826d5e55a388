import type { GroupEvent, PlannedDelivery } from '../../database/webhooks/dispatch.ts';
import { createMatcher } from '../../domain/webhooks/matching.ts';
import { orderedUuid } from '../../database/common/ids.ts';
import type { WebhookTarget } from '../../database/webhooks/webhook-targets.ts';
import { refusalOf } from './attempts.ts';
import type { Post } from './post.ts';

/**
 * Returns the deliveries of the events: pending, held or skipped, in the order of the events. `stored` are the ids of
 * deliveries that exist, by `<seq>:<webhook id>`: the previous version chose them differently.
 */
export function planDeliveries(
  events: readonly GroupEvent[],
  known: ReadonlyMap<string, readonly WebhookTarget[]>,
  stored: ReadonlyMap<string, string> = new Map(),
): PlannedDelivery[] {
  const planned: PlannedDelivery[] = [];
  for (const event of events) {
    const endpoints = known.get(event.workspace_id) ?? [];
    if (endpoints.length === 0) continue;
    const { data } = JSON.parse(event.body) as { data: Record<string, unknown> };
    const matches = createMatcher({ event: event.event, data });
    for (const endpoint of endpoints) {
      const { match, reason } = matches(endpoint.events);
      if (match === 'unsubscribed') continue;
      const refusal = match === 'skip' ? (['skipped', reason] as const) : refusalOf(endpoint);
      if (refusal?.[0] === 'cancelled') continue;
      const key = `${event.seq}:${endpoint.id}`;
      planned.push({
        // The log lists by id: events of one request arrive in the same millisecond and are listed by `seq`.
        id: stored.get(key) ?? orderedUuid(event.received_at, event.seq, key),
        workspace_id: event.workspace_id,
        webhook_id: endpoint.id,
        event_seq: event.seq,
        event_id: event.id,
        event: event.event,
        status: refusal?.[0] ?? 'pending',
        reason: refusal?.[1] ?? null,
      });
    }
  }
  return planned;
}

/** Yields the deliveries to post. All deliveries of an event share its bytes. */
export function* postsOf(
  planned: readonly PlannedDelivery[],
  events: readonly GroupEvent[],
  waiting: ReadonlySet<string>,
): Generator<Post> {
  const bySeq = new Map(events.map((event) => [event.seq, { ...event, body: Buffer.from(event.body) }]));
  for (const { id, webhook_id, workspace_id, event_seq } of planned) {
    const event = bySeq.get(event_seq);
    if (!event || !waiting.has(id)) continue;
    const { event: kind, timestamp, body, traceparent } = event;
    const post = { id, webhook_id, workspace_id, event: kind, timestamp, body, traceparent };
    yield { ...post, status: 'pending', generation: 0, failures: 0, in_backlog: false };
  }
}
