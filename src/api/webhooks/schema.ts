import { z } from 'zod';
import { anyEvent } from '../../domain/webhooks/event-documents.ts';
import { EVENT_KINDS } from '../../domain/webhooks/event-kinds.ts';
import { MAX_PREVIEW_EVENTS, MAX_SECRET_OVERLAP_HOURS } from '../../domain/common/limits.ts';
import { subscriptions } from '../../domain/webhooks/webhook-filters.ts';
import { secret } from '../../domain/webhooks/webhook-plan.ts';
import { webhookView } from '../../domain/webhooks/webhook-view.ts';
import { attempt, attemptRequest } from '../deliveries/schema.ts';
import { checkData } from '../events/schema.ts';
import {
  overlapHours,
  pageOf,
  pageParameters,
  givenTime,
  shownAs,
  timestamp,
  uuid,
  uuidOut,
} from '../http/fields.ts';

const DEFAULT_OVERLAP_HOURS = 24;
export const DEFAULT_PREVIEW = 20;

export const webhookPage = pageOf(webhookView).meta({ id: 'WebhookPage' });

export const rotation = z
  .strictObject({
    secret: secret.optional().describe('New secret; default: generated and shown once'),
    overlap_hours: overlapHours(MAX_SECRET_OVERLAP_HOURS)
      .default(DEFAULT_OVERLAP_HOURS)
      .describe('Hours during which the old secret also signs'),
  })
  .meta({ id: 'SecretRotation' });
export { DEFAULT_OVERLAP_HOURS };

/** The only response that contains a secret, and only a generated one. */
export const rotated = webhookView
  .extend({ secret: z.string().optional().describe('64 hex characters, shown once; only if generated') })
  .meta({ id: 'RotatedWebhook' });

export const webhookParams = z.strictObject({ id: uuid });
export const webhookListParameters = z.strictObject(pageParameters);

const testEvent = {
  event: z.enum(EVENT_KINDS).describe('Kind of the sample event'),
  data: z
    .looseObject({})
    .optional()
    .describe('Replaces the data of the sample; same schema as events of the kind'),
};
type TestEvent = z.output<z.ZodObject<typeof testEvent>>;
const checkTestData = ({ event, data }: TestEvent, context: z.core.$RefinementCtx) =>
  checkData(event, data, ['data'], context.issues);

export const testRequest = z
  .strictObject({
    ...testEvent,
    draft: uuid
      .optional()
      .describe('`draft` of a previewed request: sends it once, exactly as shown, within a day'),
  })
  .superRefine(checkTestData)
  .meta({ id: 'TestDelivery', ...shownAs(anyEvent('TestDelivery', 'event')) });

export const testDraftRequest = z
  .strictObject(testEvent)
  .superRefine(checkTestData)
  .meta({ id: 'TestDraftRequest', ...shownAs(anyEvent('TestDraftRequest', 'event')) });

/** The request that a test would send. */
export const testDraft = z
  .strictObject({
    draft: uuidOut.describe('Pass it as `draft` of a test to send exactly this; also the id of the delivery'),
    request: attemptRequest.describe(
      'The Standard Webhooks timestamp and signature are computed at the attempt',
    ),
  })
  .meta({ id: 'TestDraft' });

/** An attempt as in the delivery log, with the id of its delivery. */
export const testAttempt = attempt
  .extend({ delivery_id: uuidOut.describe('Id in the delivery log') })
  .meta({ id: 'TestAttempt' });

const previewLimit = z
  .int()
  .min(1)
  .max(MAX_PREVIEW_EVENTS)
  .optional()
  .describe(`Number of recent events; default: ${DEFAULT_PREVIEW}`);
/** Subscriptions to match with recent events; default: those of the webhook. */
export const previewRequest = z
  .strictObject({ events: subscriptions.optional(), limit: previewLimit })
  .meta({ id: 'FilterPreviewRequest' });
export const subscriptionPreviewRequest = z
  .strictObject({ events: subscriptions, limit: previewLimit })
  .meta({ id: 'SubscriptionPreviewRequest' });
export const preview = z
  .strictObject({
    data: z.array(
      z.strictObject({
        event_id: z.string(),
        event: z.enum(EVENT_KINDS),
        timestamp,
        about: z.string().nullable().describe('Ids, keys, titles and names in the event'),
        verdict: z.enum(['send', 'skip', 'unsubscribed']),
        reason: z.string().nullable().describe('Filter that did not match, and why'),
      }),
    ),
  })
  .meta({ id: 'FilterPreview' });

/** Statuses that `recover` can resend. */
const RECOVERABLE = ['held', 'failed', 'skipped'] as const;
export type Recoverable = (typeof RECOVERABLE)[number];
export const DEFAULT_RECOVERY: readonly Recoverable[] = ['held', 'failed'];

export const recovery = z
  .strictObject({
    since: givenTime.describe('Deliveries created at or after this time'),
    statuses: z
      .array(z.enum(RECOVERABLE))
      .min(1)
      .optional()
      .describe(`Default: ${DEFAULT_RECOVERY.join(' and ')}`),
    count_only: z
      .boolean()
      .default(false)
      .describe('Only returns the number, with 200; even while the webhook is disabled or inactive'),
  })
  .meta({ id: 'Recovery' });
export const recovered = z
  .strictObject({ count: z.int().describe('Number of deliveries to resend') })
  .meta({ id: 'Recovered' });
