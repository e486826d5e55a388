import { defineEntity, p } from '@mikro-orm/core';
import type { StoredTimings } from '../../domain/webhooks/stored-attempt.ts';
import type { AttemptTimings, AttemptTrigger, DeliveryStatus } from '../../domain/webhooks/delivery.ts';
import type { EventKind } from '../../domain/webhooks/event-kinds.ts';
import type { FailureKind } from '../../domain/common/failure-kinds.ts';
import type { Subscription } from '../../domain/webhooks/webhook.ts';

/** The tables of webhooks. Property names are the column names and the names in the API. Migrations create the tables. */

export const Webhook = defineEntity({
  name: 'Webhook',
  tableName: 'webhooks',
  properties: {
    id: p.uuid().primary(),
    workspace_id: p.uuid(),
    name: p.text(),
    description: p.text().nullable(),
    url: p.text(),
    events: p.json<Subscription[]>(),
    /** Sealed; null for a webhook that does not sign. */
    secret: p.text().nullable(),
    /** Sealed; signs too until `previous_secret_until`. */
    previous_secret: p.text().nullable(),
    previous_secret_until: p.datetime().nullable(),
    include_secret_header: p.boolean(),
    standard_webhooks: p.boolean(),
    active: p.boolean(),
    /** Failed attempts in a row, over all deliveries. */
    consecutive_failures: p.integer(),
    /** How often it was enabled after it was inactive or disabled. */
    enabled_count: p.integer(),
    disabled_at: p.datetime().nullable(),
    disabled_reason: p.text().nullable(),
    created_by: p.text(),
    created_at: p.datetime(),
    updated_at: p.datetime(),
    /** Deleted webhooks stay for their log, without secrets. */
    deleted_at: p.datetime().nullable(),
    /** Not null if deliveries go to a listener on the channel: the time until which a listener is certain. */
    listening_until: p.datetime().nullable(),
  },
});

export const WorkspaceEvent = defineEntity({
  name: 'WorkspaceEvent',
  tableName: 'events',
  properties: {
    /** In the order of arrival. */
    seq: p.bigint('number').primary(),
    workspace_id: p.uuid(),
    /** Chosen by the sender, or generated; unique in the workspace. */
    id: p.text(),
    group_id: p.uuid().nullable(),
    event: p.text().$type<EventKind>(),
    timestamp: p.datetime(),
    /** SHA-256 of the canonical content, which distinguishes a repeat from another event with the same id. */
    content_hash: p.blob(),
    /** The payload, created once; null after its retention. */
    body: p.text().nullable(),
    /** Search words for the log. */
    words: p.text(),
    test: p.boolean(),
    received_at: p.datetime(),
  },
});

export const Delivery = defineEntity({
  name: 'Delivery',
  tableName: 'deliveries',
  properties: {
    /** Derived from event and webhook, the same for repeated work, in the order of events: `X-Service-Delivery`. */
    id: p.uuid().primary(),
    workspace_id: p.uuid(),
    webhook_id: p.uuid(),
    event_seq: p.bigint('number'),
    event_id: p.text(),
    event: p.text().$type<EventKind>(),
    status: p.text().$type<DeliveryStatus>(),
    test: p.boolean(),
    /** Why it was not sent, or not sent yet. */
    reason: p.text().nullable(),
    /** How often its schedule restarted. Work of an older generation does nothing. */
    generation: p.integer(),
    /** Whether it is in its webhook's backlog. */
    in_backlog: p.boolean(),
    /** Failed automatic attempts of the current schedule. */
    failures: p.integer(),
    attempts_count: p.integer(),
    /** Status of the last attempt. The next two columns are of the same attempt. */
    response_status: p.integer().nullable(),
    failure: p.text().$type<FailureKind>().nullable(),
    response_ms: p.integer().nullable(),
    next_attempt_at: p.datetime().nullable(),
    /** Whether the workflow of its retries is known to exist. */
    retry_started: p.boolean(),
    created_at: p.datetime(),
    updated_at: p.datetime(),
  },
});

export const DeliveryAttempt = defineEntity({
  name: 'DeliveryAttempt',
  tableName: 'delivery_attempts',
  properties: {
    delivery_id: p.uuid().primary(),
    number: p.integer().primary(),
    trigger: p.text().$type<AttemptTrigger>(),
    attempted_at: p.datetime(),
    url: p.text(),
    /** As sent, with secrets masked, without the usual ones (`src/domain/webhooks/stored-attempt.ts`). The request's body is the event's. */
    request_headers: p.json<Record<string, string>>(),
    response_status: p.integer().nullable(),
    response_headers: p.json<Record<string, string>>().nullable(),
    response_body: p.text().nullable(),
    response_truncated: p.boolean().nullable(),
    failure: p.text().$type<FailureKind>().nullable(),
    message: p.text().nullable(),
    address: p.text().nullable(),
    /** Of attempts by previous versions, an object. */
    timings: p.json<StoredTimings | AttemptTimings>(),
    response_ms: p.integer().nullable(),
  },
});
