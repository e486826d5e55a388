import { z } from 'zod';
import { EVENT_KINDS } from '../../domain/webhooks/event-kinds.ts';
import { MAX_SECRET_OVERLAP_HOURS } from '../../domain/common/limits.ts';
import { subscriptions } from '../../domain/webhooks/webhook-filters.ts';
import { secret } from '../../domain/webhooks/webhook-plan.ts';
import { webhookView } from '../../domain/webhooks/webhook-view.ts';
import { attempt, attemptRequest } from '../deliveries/schema.ts';
import { checkData } from '../events/schema.ts';
import { overlapHours, pageOf, pageParameters, givenTime, timestamp, uuid, uuidOut } from '../http/fields.ts';

const DEFAULT_OVERLAP_HOURS = 24;
const MAX_PREVIEW = 100;
export const DEFAULT_PREVIEW = 20;

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

const testEvent = {
  event: z.enum(EVENT_KINDS).describe('A sample of this kind is sent'),
  data: z.looseObject({}).optional().describe("In the place of the sample's, as for events of the kind"),
};
type TestEvent = z.output<z.ZodObject<typeof testEvent>>;
const checkTestData = ({ event, data }: TestEvent, context: z.core.$RefinementCtx) =>
  checkData(event, data, ['data'], context.issues);

export const testWish = z
  .strictObject({
    ...testEvent,
    draft: uuid
      .optional()
      .describe('Of the request that was looked at before: it is sent as it was shown, once, within a day'),
  })
  .superRefine(checkTestData)
  .meta({ id: 'TestDelivery' });

export const testDraftWish = z
  .strictObject(testEvent)
  .superRefine(checkTestData)
  .meta({ id: 'TestDraftWish' });

/** A test as it would go out. */
export const testDraft = z
  .strictObject({
    draft: uuidOut.describe('Sends exactly this, as `draft` of a test; also the id of the delivery'),
    request: attemptRequest.describe(
      'Times of Standard Webhooks and what they sign are those of the attempt',
    ),
  })
  .meta({ id: 'TestDraft' });

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
        about: z.string().nullable().describe('What it is about, in its own words: ids, keys, titles, names'),
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
    since: givenTime.describe('Deliveries made then or later'),
    statuses: z
      .array(z.enum(RECOVERABLE))
      .min(1)
      .optional()
      .describe(`${DEFAULT_RECOVERY.join(' and ')} by default`),
    count_only: z
      .boolean()
      .default(false)
      .describe('Only says how many they would be, with 200; also while the webhook is disabled or off'),
  })
  .meta({ id: 'Recovery' });
export const recovered = z
  .strictObject({ count: z.int().describe('Deliveries that begin anew') })
  .meta({ id: 'Recovered' });
