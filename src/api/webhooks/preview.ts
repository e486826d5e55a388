import { setImmediate } from 'node:timers/promises';
import { describeEvent } from '../../domain/webhooks/event-payload.ts';
import { matchEvent } from '../../domain/webhooks/matching.ts';
import type { Subscription } from '../../domain/webhooks/webhook.ts';
import type { RouteResponse } from '../http/route.ts';
import type { ReadRecentEvents } from './recent-events.ts';
import { DEFAULT_PREVIEW } from './schema.ts';

/** Returns the verdicts of the subscriptions for the workspace's latest events, newest first. */
export async function previewSubscriptions(
  readRecentEvents: ReadRecentEvents,
  workspaceId: string,
  request: { events: readonly Subscription[]; limit: number | undefined },
): Promise<RouteResponse> {
  const found = (await readRecentEvents(workspaceId)).slice(0, request.limit ?? DEFAULT_PREVIEW);
  const data = [];
  for (const { id, event, timestamp, words, data: content } of found) {
    const { match, reason } = matchEvent(request.events, { event, data: content });
    data.push({
      event_id: id,
      event,
      timestamp: timestamp.toISOString(),
      about: describeEvent({ id, event }, words),
      verdict: match,
      reason,
    });
    // Other requests get their turn: the event may have thousands of changes.
    await setImmediate();
  }
  return { status: 200, body: { data } };
}
