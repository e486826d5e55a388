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
  const data = found.map(({ id, event, timestamp, words, data: content }) => {
    const { match, reason } = matchEvent(request.events, { event, data: content });
    return {
      event_id: id,
      event,
      timestamp: timestamp.toISOString(),
      about: describeEvent({ id, event }, words),
      verdict: match,
      reason,
    };
  });
  return { status: 200, body: { data } };
}
