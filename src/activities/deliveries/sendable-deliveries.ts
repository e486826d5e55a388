import type { Database } from '../../database/database.ts';
import { markUnsent, type DeliveryToSend } from '../../database/webhooks/dispatch.ts';
import type { Post } from './post.ts';

export const PAYLOAD_DELETED = 'the payload was deleted after its retention period';

/** Returns the deliveries to post, and cancels those that cannot be sent because their payload is past its retention. */
export async function selectSendable(
  database: Database,
  deliveries: readonly DeliveryToSend[],
  now: Date,
): Promise<Post[]> {
  const expired = deliveries.filter(({ body }) => body === null);
  if (expired.length > 0) await markUnsent(database, expired, 'cancelled', PAYLOAD_DELETED, now);
  return deliveries.flatMap(({ body, ...delivery }) =>
    body === null ? [] : [{ ...delivery, body: Buffer.from(body) }],
  );
}
