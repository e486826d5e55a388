import type { Database } from '../../database/database.ts';
import { markUnsent, type DeliveryToSend } from '../../database/webhooks/dispatch.ts';
import type { Post } from './post.ts';

/** Returns the deliveries to post, and cancels those that cannot be sent because their payload is past its retention. */
export async function selectSendable(
  database: Database,
  deliveries: readonly DeliveryToSend[],
  now: Date,
): Promise<Post[]> {
  const expired = deliveries.filter(({ body }) => body === null);
  if (expired.length > 0) {
    const reason = 'the payload was deleted after its retention period';
    await markUnsent(database, expired, 'cancelled', reason, now);
  }
  return deliveries.flatMap(({ body, ...delivery }) =>
    body === null ? [] : [{ ...delivery, body: Buffer.from(body) }],
  );
}
