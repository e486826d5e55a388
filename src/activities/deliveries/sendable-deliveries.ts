import type { DeliveryStore } from '../../database/webhooks/delivery-store.ts';
import type { DeliveryToSend } from '../../database/webhooks/dispatch.ts';
import type { Post } from './post.ts';

export const PAYLOAD_DELETED = 'the payload was deleted after its retention period';

/** Returns the deliveries to post, and cancels those that cannot be sent because their payload is past its retention. */
export async function selectSendable(
  store: DeliveryStore,
  deliveries: readonly DeliveryToSend[],
  now: Date,
): Promise<Post[]> {
  const expired = deliveries.filter(({ body }) => body === null);
  if (expired.length > 0) await store.markUnsent(expired, 'cancelled', PAYLOAD_DELETED, now);
  return deliveries.flatMap(({ body, ...delivery }) => (body === null ? [] : [{ ...delivery, body }]));
}
