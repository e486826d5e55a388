import type { AttemptRow, DeliveryRow, EventOfDelivery } from '../../database/webhooks/deliveries.ts';
import { withoutSignatures } from '../../outbound/webhook-request.ts';
import { presentListed } from '../../domain/webhooks/delivery-view.ts';

/**
 * Returns an attempt with its request and response. `body` is the payload, the same in all attempts. `signed`: with the
 * signatures of the request.
 */
export function presentAttempt(row: AttemptRow, body: string | null, signed: boolean) {
  const status = row.response_status ?? null;
  return {
    number: row.number,
    trigger: row.trigger,
    attempted_at: row.attempted_at.toISOString(),
    request: {
      method: 'POST',
      url: row.url,
      headers: signed ? row.request_headers : withoutSignatures(row.request_headers),
      body,
    },
    response:
      status === null
        ? null
        : {
            status,
            headers: row.response_headers ?? {},
            body: row.response_body ?? null,
            truncated: row.response_truncated ?? false,
          },
    failure: row.failure ?? null,
    message: row.message ?? null,
    address: row.address ?? null,
    timings: row.timings,
    response_ms: row.response_ms ?? null,
  };
}

/** Returns a delivery with all its attempts. */
export function presentDetail(
  row: DeliveryRow,
  attempts: readonly AttemptRow[],
  event: EventOfDelivery | null,
  signed: boolean,
) {
  return {
    ...presentListed(row, event?.words ?? null),
    event_timestamp: event?.timestamp.toISOString() ?? null,
    received_at: event?.received_at.toISOString() ?? null,
    attempts: attempts.map((attempt) => presentAttempt(attempt, event?.body ?? null, signed)),
  };
}
