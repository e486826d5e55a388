import { acceptedEvent, envelope } from '../events/schema.ts';
import { idempotent } from './shared-arguments.ts';
import { ADDS, READS, type Tool } from './tool.ts';

/** The tools for events, webhooks and deliveries. */
export const webhookTools: readonly Tool[] = [
  {
    name: 'send_event',
    title: 'Send an event',
    description:
      'Use it to tell the webhooks of the workspace that something happened, for example that an issue was created. Every subscribed webhook gets the event. `data` has the form that the kind of event requires; if it has another one, the error says what is wrong. An `id` that was already sent with the same content is not sent again. Returns the `id`, and whether the event is a `duplicate`.',
    hints: { ...ADDS, openWorldHint: true },
    operation: 'sendEvents',
    body: envelope,
    output: acceptedEvent,
  },
  {
    name: 'list_webhooks',
    title: 'List webhooks',
    description:
      'Use it to find where events are sent, and whether a webhook is disabled. Returns a page of webhooks, newest first. Pass `next_cursor` as `cursor` to get the next page.',
    hints: READS,
    operation: 'listWebhooks',
  },
  {
    name: 'list_deliveries',
    title: 'List the deliveries of a webhook',
    description:
      'Use it to find out whether a webhook got its events. `id` is that of the webhook, from `list_webhooks`. Returns a page of deliveries with their status, newest events first. `status` and `event` select some of them, `text` finds words of an event.',
    hints: READS,
    operation: 'listDeliveries',
  },
  {
    name: 'get_delivery',
    title: 'Get a delivery',
    description:
      'Use it to find out why a delivery failed. `id` is that of the delivery, from `list_deliveries`. Returns all attempts with request and response.',
    hints: READS,
    operation: 'readDelivery',
  },
  {
    name: 'retry_delivery',
    title: 'Retry a delivery',
    description:
      'Use it to send a delivery once more, now or at the time `at`, for example after the receiver was repaired. `id` is that of the delivery, from `list_deliveries`. The automatic retries stay scheduled. Returns the delivery; look at the result with `get_delivery`.',
    hints: { ...ADDS, openWorldHint: true },
    operation: 'retryDelivery',
    extra: idempotent,
  },
];
