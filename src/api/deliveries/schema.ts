import { z } from 'zod';
import { ATTEMPT_TRIGGERS, DELIVERY_STATUSES } from '../../domain/webhooks/delivery.ts';
import { listedDelivery } from '../../domain/webhooks/delivery-view.ts';
import { EVENT_KINDS } from '../../domain/webhooks/event-kinds.ts';
import { FAILURE_KINDS } from '../../domain/common/failure-kinds.ts';
import { listParameter, pageOf, pageParameters, text, givenTime, timestamp, uuid } from '../http/fields.ts';

const MAX_SEARCH_LENGTH = 200;

/** A page of a webhook's log (docs/http-api.md). */
export const page = pageOf(listedDelivery).meta({ id: 'DeliveryPage' });

const milliseconds = z.number().nullable();
const headers = z.record(z.string(), z.string());

export const attemptRequest = z.strictObject({
  method: z.literal('POST'),
  url: z.string(),
  headers: headers.describe('A secret that was sent is masked'),
  body: z.string().nullable().describe('null once payloads of that age are removed'),
});

export const attempt = z
  .strictObject({
    number: z.int(),
    trigger: z.enum(ATTEMPT_TRIGGERS),
    attempted_at: timestamp,
    request: attemptRequest,
    response: z
      .strictObject({
        status: z.int(),
        headers,
        body: z.string().nullable().describe('The first 64 KiB; null once bodies of that age are removed'),
        truncated: z.boolean(),
      })
      .nullable(),
    failure: z.enum(FAILURE_KINDS).nullable(),
    message: z.string().nullable().describe('The failure in words'),
    address: z.string().nullable().describe('The address that was connected to'),
    timings: z.strictObject({
      lookup_ms: milliseconds,
      connect_ms: milliseconds,
      tls_ms: milliseconds,
      first_byte_ms: milliseconds,
      total_ms: milliseconds,
    }),
    response_ms: z.int().nullable(),
  })
  .meta({ id: 'DeliveryAttempt' });

export const detail = listedDelivery
  .extend({
    event_timestamp: timestamp.nullable().describe('When the event occurred'),
    received_at: timestamp.nullable().describe('When the event came in here'),
    attempts: z.array(attempt).describe('Oldest first'),
  })
  .meta({ id: 'DeliveryDetail' });

export const webhookParams = z.strictObject({ id: uuid });
export const deliveryParams = z.strictObject({ id: uuid });

export const listParameters = z.strictObject({
  ...pageParameters,
  status: listParameter(DELIVERY_STATUSES).optional(),
  event: listParameter(EVENT_KINDS).optional(),
  created_after: givenTime.optional().describe('Made then or later'),
  created_before: givenTime.optional().describe('Made earlier'),
  text: text({ least: 1, most: MAX_SEARCH_LENGTH })
    .optional()
    .describe(
      'Words, or beginnings of words, that the event has in its id, kind, titles and names; or a delivery id',
    ),
});

export const retry = z
  .strictObject({
    at: givenTime.optional().describe('30 days ahead at most; now where it is not given or past'),
  })
  .meta({ id: 'DeliveryRetry' });
