import { z } from 'zod';
import { urlProblem } from '../common/callback-url.ts';
import {
  MAX_SECRET_LENGTH,
  MAX_URL_LENGTH,
  MAX_WEBHOOK_DESCRIPTION_LENGTH,
  MAX_WEBHOOK_NAME_LENGTH,
} from '../common/limits.ts';
import { fieldProblem, text } from '../common/schema-parts.ts';
import { subscriptions } from './webhook-filters.ts';

/** The address guard checks the resolved address, now and again at each attempt. */
const url = z
  .string()
  .superRefine((value, context) => {
    const problem = /^https?:\/\//i.test(value) ? urlProblem(value) : 'must start with https:// or http://';
    if (value.length > MAX_URL_LENGTH) {
      context.addIssue(fieldProblem('too_long', `must have at most ${MAX_URL_LENGTH} characters`));
    } else if (problem) {
      context.addIssue(fieldProblem('invalid_format', problem));
    }
  })
  .meta({ maxLength: MAX_URL_LENGTH, pattern: '^[Hh][Tt][Tt][Pp][Ss]?://', format: 'uri' });

/** A secret that a user chose. */
export const secret = text({ least: 1, most: MAX_SECRET_LENGTH })
  .superRefine((value, context) => {
    // NUL is reported already.
    if (/\p{Cc}/u.test(value.replaceAll('\u0000', ''))) {
      context.addIssue(fieldProblem('invalid_format', 'must not contain control characters'));
    }
  })
  .meta({ minLength: 1, maxLength: MAX_SECRET_LENGTH })
  .describe('Signs deliveries; the HMAC key is its UTF-8 bytes. Never shown again');

const plan = {
  name: text({ least: 1, most: MAX_WEBHOOK_NAME_LENGTH }),
  description: text({ most: MAX_WEBHOOK_DESCRIPTION_LENGTH })
    .nullable()
    .optional()
    .describe('What the webhook is for. Null or an empty text: no description'),
  url,
  method: z.literal('POST').optional(),
  content_type: z.literal('application/json').optional(),
  events: subscriptions,
  include_secret_header: z.boolean().describe('Whether to send the secret in `X-Webhook-Secret`').optional(),
  allow_secret_over_http: z
    .boolean()
    .describe(
      'Must be `true` in a request that makes Baton send `X-Webhook-Secret` to a new URL over plain http, except on this machine. Not stored',
    )
    .optional(),
  active: z.boolean().optional(),
  standard_webhooks: z
    .boolean()
    .describe('Whether to also send the headers of Standard Webhooks; requires a secret')
    .optional(),
};

/** A new webhook (docs/webhooks.md). */
export const webhookPlan = z.strictObject({ ...plan, secret: secret.optional() }).meta({
  id: 'WebhookPlan',
  // Either option requires a secret.
  allOf: [
    {
      anyOf: [
        { required: ['secret'] },
        { properties: { include_secret_header: { const: false }, standard_webhooks: { const: false } } },
      ],
    },
  ],
});

/** A change of a webhook. Omitted fields stay unchanged. */
export const webhookEdit = z
  .strictObject({
    ...plan,
    name: plan.name.optional(),
    url: plan.url.optional(),
    events: plan.events.optional(),
    secret: secret
      .nullable()
      .optional()
      .describe(
        'Replaces the old secret immediately; null: no secret. Required if the request makes Baton send `X-Webhook-Secret` to a new URL: repeat the current secret or set a new one',
      ),
    active: plan.active.describe('`true` also re-enables a webhook that was disabled by failures'),
  })
  .meta({ id: 'WebhookEdit' });
export type WebhookEdit = z.output<typeof webhookEdit>;
