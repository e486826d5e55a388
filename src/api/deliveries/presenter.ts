import type { AttemptRow, DeliveryRow, EventOfDelivery } from '../../database/webhooks/deliveries.ts';
import { MAX_LISTED_PAYLOAD_BYTES } from '../../domain/common/limits.ts';
import {
  fromStoredHeaders,
  fromStoredTimings,
  type HeadersOf,
} from '../../domain/webhooks/stored-attempt.ts';
import { withoutRepeatedSignatures, withoutSignatures } from '../../outbound/webhook-request.ts';
import { presentListed } from '../../domain/webhooks/delivery-view.ts';

/**
 * Returns an attempt with its request and response. `of` describes the delivery. `body` is the payload, the same in all
 * attempts. `signed`: with the signatures of the request.
 */
export function presentAttempt(row: AttemptRow, of: HeadersOf, body: string | null, signed: boolean) {
  const status = row.response_status ?? null;
  const sent = fromStoredHeaders(row.request_headers, of);
  const stored = { headers: row.response_headers ?? null, body: row.response_body ?? null };
  const response = signed ? stored : withoutRepeatedSignatures(stored, sent);
  return {
    number: row.number,
    trigger: row.trigger,
    attempted_at: row.attempted_at.toISOString(),
    request: {
      method: 'POST',
      url: row.url,
      headers: signed ? sent : withoutSignatures(sent),
      body,
    },
    response:
      status === null
        ? null
        : {
            status,
            headers: response.headers ?? {},
            body: response.body,
            truncated: row.response_truncated ?? false,
          },
    failure: row.failure ?? null,
    message: row.message ?? null,
    address: row.address ?? null,
    timings: fromStoredTimings(row.timings),
    response_ms: row.response_ms ?? null,
  };
}

/**
 * Returns a delivery with its newest attempts. All of them have the same payload, so that only as many repeat it as the limit
 * allows: a response of one delivery must not need hundreds of megabytes.
 */
export function presentDetail(
  row: DeliveryRow,
  attempts: readonly AttemptRow[],
  event: EventOfDelivery | null,
  signed: boolean,
) {
  const body = event?.body ?? null;
  const size = Buffer.byteLength(body ?? '');
  const of = { deliveryId: row.id, event: row.event, timestamp: event?.timestamp ?? null };
  const firstWithBody = attempts.length - Math.max(1, Math.floor(MAX_LISTED_PAYLOAD_BYTES / size));
  return {
    ...presentListed(row, event?.words ?? null),
    event_timestamp: event?.timestamp.toISOString() ?? null,
    received_at: event?.received_at.toISOString() ?? null,
    attempts: attempts.map((attempt, index) =>
      presentAttempt(attempt, of, index < firstWithBody ? null : body, signed),
    ),
  };
}
