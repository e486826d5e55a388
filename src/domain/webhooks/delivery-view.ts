import { z } from 'zod';
import { DELIVERY_STATUSES, type DeliveryStatus } from './delivery.ts';
import { EVENT_KINDS, type EventKind } from './event-kinds.ts';
import { describeEvent } from './event-payload.ts';
import { FAILURE_KINDS } from '../common/failure-kinds.ts';
import { timestamp, uuidOut } from '../common/schema-parts.ts';

/** A delivery (docs/webhooks.md). */
export const deliveryView = z
  .strictObject({
    id: uuidOut.describe('Value of `X-Service-Delivery`, the same in all attempts'),
    webhook_id: uuidOut,
    event_id: z.string(),
    event: z.enum(EVENT_KINDS),
    status: z.enum(DELIVERY_STATUSES),
    test: z.boolean(),
    response_status: z.int().nullable().describe('Status of the response to the last attempt'),
    failure: z.enum(FAILURE_KINDS).nullable().describe('Failure of the last attempt; null on success'),
    response_ms: z.int().nullable().describe('Duration of the last attempt'),
    attempts_count: z.int(),
    next_attempt_at: timestamp
      .nullable()
      .describe('Time of the next automatic attempt; without one, the time of the scheduled manual retry'),
    scheduled_at: timestamp.nullable().describe('When the scheduled manual retry is due'),
    reason: z
      .string()
      .nullable()
      .describe('Why it was not sent or not yet sent, or why a manual retry was not made'),
    created_at: timestamp,
  })
  .meta({ id: 'Delivery' });

/** A delivery in the log and in the room of its webhook. */
export const listedDelivery = deliveryView
  .extend({
    about: z
      .string()
      .nullable()
      .describe('Keys, titles, names and then ids in the event; null after they were deleted'),
  })
  .meta({ id: 'ListedDelivery' });

/** The stored fields of a delivery that are shown. */
export type StoredDelivery = {
  id: string;
  webhook_id: string;
  event_id: string;
  event: EventKind;
  status: DeliveryStatus;
  test: boolean;
  response_status?: number | null | undefined;
  failure?: string | null | undefined;
  response_ms?: number | null | undefined;
  attempts_count: number;
  next_attempt_at?: Date | null | undefined;
  scheduled_at?: Date | null | undefined;
  reason?: string | null | undefined;
  created_at: Date;
};

export function presentDelivery(row: StoredDelivery) {
  return {
    id: row.id,
    webhook_id: row.webhook_id,
    event_id: row.event_id,
    event: row.event,
    status: row.status,
    test: row.test,
    response_status: row.response_status ?? null,
    failure: row.failure ?? null,
    response_ms: row.response_ms ?? null,
    attempts_count: row.attempts_count,
    next_attempt_at: (row.next_attempt_at ?? row.scheduled_at)?.toISOString() ?? null,
    scheduled_at: row.scheduled_at?.toISOString() ?? null,
    reason: row.reason ?? null,
    created_at: row.created_at.toISOString(),
  };
}

/** Characters of an event's search words that are read for a log. */
export const MAX_READ_WORDS_LENGTH = 500;

/** Presents a delivery of a log. `words` are the search words of its event. */
export function presentListed(row: StoredDelivery, words: string | null) {
  const about = describeEvent({ id: row.event_id, event: row.event }, words ?? '');
  return { ...presentDelivery(row), about };
}
