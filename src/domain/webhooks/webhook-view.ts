import { z } from 'zod';
import { EVENT_KINDS } from './event-kinds.ts';
import { timestamp, uuidOut } from '../common/schema-parts.ts';
import { FILTER_FIELDS, WEBHOOK_STATUSES, webhookStatus, type Subscription } from './webhook.ts';

const value = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const subscription = z
  .strictObject({
    event: z.enum(EVENT_KINDS),
    filters: z.array(
      z.strictObject({
        field: z.enum(FILTER_FIELDS),
        changed_to: value.optional(),
        values: z.array(value).optional(),
      }),
    ),
  })
  .meta({ id: 'WebhookSubscriptionStored' });

/** A webhook as the API and the channel show it. */
export const webhookView = z
  .strictObject({
    id: uuidOut,
    name: z.string(),
    description: z.string().nullable(),
    url: z.string(),
    method: z.literal('POST'),
    content_type: z.literal('application/json'),
    events: z.array(subscription),
    has_secret: z.boolean(),
    include_secret_header: z.boolean(),
    active: z.boolean(),
    standard_webhooks: z.boolean(),
    status: z.enum(WEBHOOK_STATUSES).describe('`disabled`: by repeated failures; `inactive`: by a user'),
    consecutive_failures: z.int(),
    disabled_at: timestamp.nullable(),
    disabled_reason: z.string().nullable(),
    previous_secret_until: timestamp.nullable().describe('Until when the previous secret also signs'),
    listening: z
      .boolean()
      .describe('Whether its deliveries go to a listener on the live channel instead of `url`'),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Webhook' });

/** The stored fields of a webhook that are shown or that determine what is shown. */
export type StoredWebhook = {
  id: string;
  name: string;
  description?: string | null | undefined;
  url: string;
  events: Subscription[];
  secret?: string | null | undefined;
  include_secret_header: boolean;
  active: boolean;
  standard_webhooks: boolean;
  consecutive_failures: number;
  disabled_at?: Date | null | undefined;
  disabled_reason?: string | null | undefined;
  previous_secret_until?: Date | null | undefined;
  listening_until?: Date | null | undefined;
  created_at: Date;
  updated_at: Date;
};

/** Presents a webhook. It shows whether there is a secret, never the secret. */
export function presentWebhook(row: StoredWebhook, now: Date) {
  const disabledAt = row.disabled_at ?? null;
  const until = row.previous_secret_until ?? null;
  return {
    id: row.id,
    name: row.name,
    description: row.description ?? null,
    url: row.url,
    method: 'POST',
    content_type: 'application/json',
    events: row.events,
    has_secret: (row.secret ?? null) !== null,
    include_secret_header: row.include_secret_header,
    active: row.active,
    standard_webhooks: row.standard_webhooks,
    status: webhookStatus({ active: row.active, disabled_at: disabledAt }),
    consecutive_failures: row.consecutive_failures,
    disabled_at: disabledAt?.toISOString() ?? null,
    disabled_reason: row.disabled_reason ?? null,
    previous_secret_until: until !== null && until > now ? until.toISOString() : null,
    listening: (row.listening_until ?? null) !== null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
