import type { EventKind } from '../src/domain/webhooks/event-kinds.ts';
import type { WebhookName } from './plan-faults.ts';
import type { PlannedEvent } from './plan-events.ts';

/** The subscriptions of each webhook. `priority`: only issues of this priority. */
const SUBSCRIPTIONS: Readonly<Record<WebhookName, { event: EventKind; priority?: string }[]>> = {
  steady: [{ event: 'issue.created' }, { event: 'issue.updated' }],
  filtered: [{ event: 'issue.updated', priority: 'High' }],
  flaky: [{ event: 'issue.updated' }],
  breaking: [{ event: 'issue.created' }],
  clock: [{ event: 'user.joined' }],
  certificate: [{ event: 'sprint.started' }],
};

/** Returns the `events` of a webhook for the API. */
export function subscriptionsOf(name: WebhookName) {
  return SUBSCRIPTIONS[name].map(({ event, priority }) => ({
    event,
    filters: priority === undefined ? [] : [{ field: 'priority', values: [priority] }],
  }));
}

/** Returns whether a webhook gets an event. */
export function isSubscribed(name: WebhookName, { event, data }: PlannedEvent): boolean {
  const issue = data['issue'] as { priority?: string } | undefined;
  return SUBSCRIPTIONS[name].some(
    (one) => one.event === event && (one.priority === undefined || one.priority === issue?.priority),
  );
}
