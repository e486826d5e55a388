import { MAX_LISTED_ATTEMPTS } from '../../domain/common/limits.ts';
import { acceptedEvent, envelope } from '../events/schema.ts';
import { idempotent } from './shared-arguments.ts';
import { ADDS, READS, type Tool } from './tool.ts';

/** The tools for events, webhooks and deliveries. */
export const webhookTools: readonly Tool[] = [
  {
    name: 'send_event',
    title: 'Send an event',
    description:
      'Use it to send an event to the webhooks of the workspace, for example that an issue was created. Every webhook with a matching subscription gets the event. The kind of event determines the schema of `data`; an error names invalid fields. An `id` that was already sent with the same content is not sent again. Returns the `id`, and whether the event is a `duplicate`.',
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
      'Use it to find out whether a webhook got its events. `id` is the id of the webhook, from `list_webhooks`. Returns a page of deliveries with their status, newest events first. Filter them by `status`, `event` or `text`, which contains words of the event.',
    hints: READS,
    operation: 'listDeliveries',
  },
  {
    name: 'get_delivery',
    title: 'Get a delivery',
    description: `Use it to find out why a delivery failed. \`id\` is the id of the delivery, from \`list_deliveries\`. Returns the newest ${MAX_LISTED_ATTEMPTS} attempts with request and response.`,
    hints: READS,
    operation: 'readDelivery',
  },
  {
    name: 'retry_delivery',
    title: 'Retry a delivery',
    description:
      'Use it to send a delivery once more, now or at the time `at`, for example after the receiver was fixed. `id` is the id of the delivery, from `list_deliveries`. The automatic retries stay scheduled. Returns the delivery. Get the result with `get_delivery`.',
    hints: { ...ADDS, openWorldHint: true },
    operation: 'retryDelivery',
    extra: idempotent,
  },
];
