import type { EventKind } from '../src/domain/webhooks/event-kinds.ts';
import type { WebhookName } from './plan-disturbances.ts';
import type { PlannedEvent } from './plan-events.ts';

/** What each webhook of the story is sent. `priority`: only issues of this one. */
const SUBSCRIPTIONS: Readonly<Record<WebhookName, { event: EventKind; priority?: string }[]>> = {
  steady: [{ event: 'issue.created' }, { event: 'issue.updated' }],
  filtered: [{ event: 'issue.updated', priority: 'High' }],
  flaky: [{ event: 'issue.updated' }],
  breaking: [{ event: 'issue.created' }],
  clock: [{ event: 'user.joined' }],
  certificate: [{ event: 'sprint.started' }],
};

/** `events` of a webhook, as the API wants it. */
export function subscriptionsOf(name: WebhookName) {
  return SUBSCRIPTIONS[name].map(({ event, priority }) => ({
    event,
    filters: priority === undefined ? [] : [{ field: 'priority', values: [priority] }],
  }));
}

/** Whether a webhook is to get an event. */
export function wants(name: WebhookName, { event, data }: PlannedEvent): boolean {
  const issue = data['issue'] as { priority?: string } | undefined;
  return SUBSCRIPTIONS[name].some(
    (one) => one.event === event && (one.priority === undefined || one.priority === issue?.priority),
  );
}
