import { describeEvent } from '../../domain/webhooks/event-payload.ts';
import { matchEvent } from '../../domain/webhooks/matching.ts';
import type { Subscription } from '../../domain/webhooks/webhook.ts';
import { listRecentEvents } from '../../database/webhooks/events.ts';
import type { Dependencies } from '../dependencies.ts';
import type { RouteResponse } from '../http/route.ts';
import { DEFAULT_PREVIEW } from './schema.ts';

/** Returns the verdicts of the subscriptions for the workspace's latest events, newest first. */
export async function previewSubscriptions(
  deps: Dependencies,
  workspaceId: string,
  request: { events: readonly Subscription[]; limit: number | undefined },
): Promise<RouteResponse> {
  const found = await listRecentEvents(deps.database, workspaceId, request.limit ?? DEFAULT_PREVIEW);
  const data = found.map(({ id, event, timestamp, body, words }) => {
    const { match, reason } = matchEvent(request.events, { event, data: dataOf(body) });
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

/** Returns `data` of a stored payload. */
export function dataOf(body: string): Record<string, unknown> {
  return (JSON.parse(body) as { data: Record<string, unknown> }).data;
}
