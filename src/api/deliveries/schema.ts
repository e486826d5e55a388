import { z } from 'zod';
import { ATTEMPT_TRIGGERS, DELIVERY_STATUSES } from '../../domain/webhooks/delivery.ts';
import { listedDelivery } from '../../domain/webhooks/delivery-view.ts';
import { EVENT_KINDS } from '../../domain/webhooks/event-kinds.ts';
import { MAX_LISTED_ATTEMPTS, MAX_SEARCH_LENGTH } from '../../domain/common/limits.ts';
import { FAILURE_KINDS } from '../../domain/common/failure-kinds.ts';
import { listParameter, pageOf, pageParameters, text, givenTime, timestamp, uuid } from '../http/fields.ts';

/** A page of a webhook's log (docs/http-api.md). */
export const page = pageOf(listedDelivery).meta({ id: 'DeliveryPage' });

const milliseconds = z.number().nullable();
const headers = z.record(z.string(), z.string());

export const attemptRequest = z.strictObject({
  method: z.literal('POST'),
  url: z.string(),
  headers: headers.describe('Secrets are masked'),
  body: z
    .string()
    .nullable()
    .describe(
      'Null after the payload was deleted, and in older attempts if all payloads together would exceed 8 MiB. The payload is the same in all attempts',
    ),
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
        body: z.string().nullable().describe('The first 64 KiB; null after the body was deleted'),
        truncated: z.boolean(),
      })
      .nullable(),
    failure: z.enum(FAILURE_KINDS).nullable(),
    message: z.string().nullable().describe('Description of the failure'),
    address: z.string().nullable().describe('IP address of the connection'),
    timings: z.strictObject({
      lookup_ms: milliseconds,
      connect_ms: milliseconds,
      tls_ms: milliseconds,
      first_byte_ms: milliseconds,
      total_ms: milliseconds,
      reconnected: z
        .boolean()
        .optional()
        .describe('True if a reused connection was closed without a response and the request was sent again'),
    }),
    response_ms: z.int().nullable(),
  })
  .meta({ id: 'DeliveryAttempt' });

export const detail = listedDelivery
  .extend({
    event_timestamp: timestamp.nullable().describe('When the event occurred'),
    received_at: timestamp.nullable().describe('When the service received the event'),
    attempts: z.array(attempt).max(MAX_LISTED_ATTEMPTS).describe('The newest 100, oldest first'),
  })
  .meta({ id: 'DeliveryDetail' });

export const webhookParams = z.strictObject({ id: uuid });
export const deliveryParams = z.strictObject({ id: uuid });

export const listParameters = z.strictObject({
  ...pageParameters,
  status: listParameter(DELIVERY_STATUSES).optional(),
  event: listParameter(EVENT_KINDS).optional(),
  created_after: givenTime.optional().describe('Created at or after this time'),
  created_before: givenTime.optional().describe('Created before this time'),
  text: text({ least: 1, most: MAX_SEARCH_LENGTH })
    .optional()
    .describe(
      'Beginnings of words in the kind, titles and names of the event, in any order; or the beginning of its id, complete if there are other words; or a delivery id. Spaces separate words. A word can also begin after punctuation, except in an id. Case matters only in ids of events',
    ),
});

export const retry = z
  .strictObject({
    at: givenTime
      .optional()
      .describe(
        'At most 30 days ahead; default: now. A time in the past means now. The same time twice is one retry',
      ),
  })
  .meta({ id: 'DeliveryRetry' });
