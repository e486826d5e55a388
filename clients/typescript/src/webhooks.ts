import { pathOf, type Call, type Http } from './http.ts';
import { idempotent } from './idempotency.ts';
import { listing, type Listing } from './pages.ts';
import type {
  CallOptions,
  Delivery,
  DeliveryDetail,
  DeliveryFilter,
  DeliveryRetry,
  FilterPreview,
  FilterPreviewRequest,
  IdempotentOptions,
  ListedDelivery,
  Recovered,
  Recovery,
  RotatedWebhook,
  SecretRotation,
  StatsWish,
  TestAttempt,
  TestDelivery,
  Webhook,
  WebhookEdit,
  WebhookListing,
  WebhookPlan,
  WebhookStats,
} from './types.ts';

export type Webhooks = ReturnType<typeof createWebhooks>;

/** Webhooks of the workspace. */
export function createWebhooks(http: Http) {
  const one = (method: Call['method'], id: string, ...rest: string[]) => ({
    method,
    path: pathOf('webhooks', id, ...rest),
  });
  return {
    /** Webhooks, newest first. */
    list: (query: WebhookListing = {}, { signal }: CallOptions = {}): Listing<Webhook> =>
      listing(http, { path: pathOf('webhooks'), query, signal }),
    create: (plan: WebhookPlan, options: IdempotentOptions = {}) =>
      http.json<Webhook>({ method: 'POST', path: pathOf('webhooks'), body: plan, ...idempotent(options) }),
    get: (id: string, { signal }: CallOptions = {}) => http.json<Webhook>({ ...one('GET', id), signal }),
    /** Changes what is given. `active: true` also enables one that failures have disabled. */
    change: (id: string, edit: WebhookEdit, { signal }: CallOptions = {}) =>
      http.json<Webhook>({ ...one('PATCH', id), body: edit, signal }),
    delete: (id: string, { signal }: CallOptions = {}) => http.json<void>({ ...one('DELETE', id), signal }),
    /** A new secret; the old one signs beside it for a while. The answer has the new one where Baton made it. */
    rotateSecret: (id: string, rotation: SecretRotation = {}, options: IdempotentOptions = {}) =>
      http.json<RotatedWebhook>({
        ...one('POST', id, 'rotate-secret'),
        body: rotation,
        ...idempotent(options),
      }),
    /** Sends a sample and answers what came of it, whatever the receiver said. */
    test: (id: string, test: TestDelivery, options: IdempotentOptions = {}) =>
      http.json<TestAttempt>({
        ...one('POST', id, 'test'),
        body: test,
        extraMs: TEST_EXTRA_MS,
        ...idempotent(options),
      }),
    /** What filters would do to recent events. */
    preview: (id: string, wish: FilterPreviewRequest = {}, { signal }: CallOptions = {}) =>
      http.json<FilterPreview>({ ...one('POST', id, 'preview'), body: wish, isRepeatable: true, signal }),
    /** Sends deliveries again that were held, failed or skipped. */
    recover: (id: string, recovery: Recovery, options: IdempotentOptions = {}) =>
      http.json<Recovered>({ ...one('POST', id, 'recover'), body: recovery, ...idempotent(options) }),
    /** Attempts hour by hour. */
    stats: (id: string, query: StatsWish = {}, { signal }: CallOptions = {}) =>
      http.json<WebhookStats>({ ...one('GET', id, 'stats'), query, signal }),
  };
}

/** A receiver may take 30 s to answer a test. */
const TEST_EXTRA_MS = 35_000;

export type Deliveries = ReturnType<typeof createDeliveries>;

/** The log of deliveries. */
export function createDeliveries(http: Http) {
  return {
    /** Deliveries of a webhook, newest first. */
    list: (
      webhookId: string,
      filter: DeliveryFilter = {},
      { signal }: CallOptions = {},
    ): Listing<ListedDelivery> =>
      listing(http, { path: pathOf('webhooks', webhookId, 'deliveries'), query: filter, signal }),
    /** A delivery with all its attempts. */
    get: (id: string, { signal }: CallOptions = {}) =>
      http.json<DeliveryDetail>({ method: 'GET', path: pathOf('deliveries', id), signal }),
    /** Sends it once more, now or at a time. */
    retry: (id: string, retry: DeliveryRetry = {}, options: IdempotentOptions = {}) =>
      http.json<Delivery>({
        method: 'POST',
        path: pathOf('deliveries', id, 'retry'),
        body: retry,
        ...idempotent(options),
      }),
  };
}
