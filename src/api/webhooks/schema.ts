import { z } from 'zod';
import { EVENT_KINDS } from '../../domain/event-kinds.ts';
import {
  MAX_SECRET_LENGTH,
  MAX_SECRET_OVERLAP_HOURS,
  MAX_URL_LENGTH,
  MAX_WEBHOOK_NAME_LENGTH,
} from '../../domain/limits.ts';
import { webhookView } from '../../domain/webhook-view.ts';
import { attempt } from '../deliveries/schema.ts';
import {
  memberProblem,
  overlapHours,
  pageOf,
  pageParameters,
  shownAs,
  text,
  timestamp,
  uuid,
  uuidOut,
} from '../http/fields.ts';
import { urlProblem } from '../tasks/callback-url.ts';
import { subscriptions } from './filters.ts';

const DEFAULT_OVERLAP_HOURS = 24;
const MAX_PREVIEW = 100;
export const DEFAULT_PREVIEW = 20;

/** What a name or an address leads to is judged where the address guard is, and again at each attempt. */
const url = z
  .string()
  .superRefine((value, context) => {
    const problem = /^https?:\/\//i.test(value) ? urlProblem(value) : 'must begin with https:// or http://';
    if (value.length > MAX_URL_LENGTH) {
      context.addIssue(memberProblem('too_long', `may have ${MAX_URL_LENGTH} characters at most`));
    } else if (problem) {
      context.addIssue(memberProblem('invalid_format', problem));
    }
  })
  .meta({ maxLength: MAX_URL_LENGTH, pattern: '^[Hh][Tt][Tt][Pp][Ss]?://', format: 'uri' });

const secret = text({ least: 1, most: MAX_SECRET_LENGTH })
  .superRefine((value, context) => {
    // NUL has been named already.
    if (/\p{Cc}/u.test(value.replaceAll('\u0000', ''))) {
      context.addIssue(memberProblem('invalid_format', 'must not hold control characters'));
    }
  })
  .meta({ minLength: 1, maxLength: MAX_SECRET_LENGTH })
  .describe('Signs deliveries; the HMAC key is its UTF-8 bytes. It is never shown again');

const plan = {
  name: text({ least: 1, most: MAX_WEBHOOK_NAME_LENGTH }),
  url,
  method: z.literal('POST').optional(),
  content_type: z.literal('application/json').optional(),
  events: subscriptions,
  include_secret_header: z.boolean().describe('Whether the secret is sent in `X-Webhook-Secret`').optional(),
  active: z.boolean().optional(),
  standard_webhooks: z
    .boolean()
    .describe('Whether the headers of Standard Webhooks are sent, too; needs a secret')
    .optional(),
};

/** A webhook to be (specification 2.5). */
export const webhookPlan = z.strictObject({ ...plan, secret: secret.optional() }).meta({ id: 'WebhookPlan' });

/** What changes of one; what is not given stays. */
export const webhookEdit = z
  .strictObject({
    ...plan,
    name: plan.name.optional(),
    url: plan.url.optional(),
    events: plan.events.optional(),
    secret: secret.nullable().optional().describe('Takes the place of the old one at once; null: none'),
    active: plan.active.describe('true also re-enables a webhook that was disabled by failures'),
  })
  .meta({ id: 'WebhookEdit' });
export type WebhookEdit = z.output<typeof webhookEdit>;

export const webhookPage = pageOf(webhookView).meta({ id: 'WebhookPage' });

export const rotation = z
  .strictObject({
    secret: secret.optional().describe('The new one; made by us and shown once where it is not given'),
    overlap_hours: overlapHours(MAX_SECRET_OVERLAP_HOURS)
      .default(DEFAULT_OVERLAP_HOURS)
      .describe('How long the old secret signs beside the new one'),
  })
  .meta({ id: 'SecretRotation' });
export { DEFAULT_OVERLAP_HOURS };

/** The only answer that holds a secret, and only one that we made. */
export const rotated = webhookView
  .extend({ secret: z.string().optional().describe('64 hex characters, shown this once; only one we made') })
  .meta({ id: 'RotatedWebhook' });

export const webhookParams = z.strictObject({ id: uuid });
export const webhookListParameters = z.strictObject(pageParameters);

export const testWish = z
  .strictObject({ event: z.enum(EVENT_KINDS).describe('A sample of this kind is sent') })
  .meta({ id: 'TestDelivery' });

/** An attempt as the delivery log shows it, with the id of its delivery. */
export const testAttempt = attempt
  .extend({ delivery_id: uuidOut.describe('Its place in the delivery log') })
  .meta({ id: 'TestAttempt' });

const previewLimit = z
  .int()
  .min(1)
  .max(MAX_PREVIEW)
  .optional()
  .describe(`How many recent events, ${DEFAULT_PREVIEW} by default`);
/** Subscriptions to try on recent events: those of the webhook where none are given. */
export const previewWish = z
  .strictObject({ events: subscriptions.optional(), limit: previewLimit })
  .meta({ id: 'FilterPreviewWish' });
export const planPreviewWish = z
  .strictObject({ events: subscriptions, limit: previewLimit })
  .meta({ id: 'PlanPreviewWish' });
export const preview = z
  .strictObject({
    data: z.array(
      z.strictObject({
        event_id: z.string(),
        event: z.enum(EVENT_KINDS),
        timestamp,
        verdict: z.enum(['send', 'skip', 'unsubscribed']),
        reason: z.string().nullable().describe('Which filter said no, and why'),
      }),
    ),
  })
  .meta({ id: 'FilterPreview' });

/** What `recover` may send again. */
const RECOVERABLE = ['held', 'failed', 'skipped'] as const;
export type Recoverable = (typeof RECOVERABLE)[number];
export const DEFAULT_RECOVERY: readonly Recoverable[] = ['held', 'failed'];

export const recovery = z
  .strictObject({
    since: z.iso
      .datetime({ offset: true })
      .transform((value) => new Date(value))
      .meta(shownAs({ type: 'string', format: 'date-time' }))
      .describe('Deliveries made then or later'),
    statuses: z
      .array(z.enum(RECOVERABLE))
      .min(1)
      .optional()
      .describe(`${DEFAULT_RECOVERY.join(' and ')} by default`),
  })
  .meta({ id: 'Recovery' });
export const recovered = z
  .strictObject({ count: z.int().describe('Deliveries that begin anew') })
  .meta({ id: 'Recovered' });
