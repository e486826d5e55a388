import { pathOf, type Http, type HttpRequest } from './http.ts';
import { idempotent } from './idempotency.ts';
import { createListing, type Listing } from './pages.ts';
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

/** Creates the methods for the webhooks of the workspace. */
export function createWebhooks(http: Http) {
  const request = (method: HttpRequest['method'], id: string, ...rest: string[]) => ({
    method,
    path: pathOf('webhooks', id, ...rest),
  });
  return {
    /** Lists webhooks, newest first. */
    list: (query: WebhookListing = {}, { signal }: CallOptions = {}): Listing<Webhook> =>
      createListing(http, { path: pathOf('webhooks'), query, signal }),
    create: (plan: WebhookPlan, options: IdempotentOptions = {}) =>
      http.json<Webhook>({ method: 'POST', path: pathOf('webhooks'), body: plan, ...idempotent(options) }),
    get: (id: string, { signal }: CallOptions = {}) => http.json<Webhook>({ ...request('GET', id), signal }),
    /** Changes the given fields. `active: true` also enables a webhook that was disabled after failures. */
    change: (id: string, edit: WebhookEdit, { signal }: CallOptions = {}) =>
      http.json<Webhook>({ ...request('PATCH', id), body: edit, signal }),
    /** Deletes a webhook and cancels its pending deliveries. */
    delete: (id: string, { signal }: CallOptions = {}) =>
      http.json<void>({ ...request('DELETE', id), signal }),
    /**
     * Replaces the secret. During the overlap, requests are also signed with the previous secret. The response contains the
     * new secret if Baton generated it.
     */
    rotateSecret: (id: string, rotation: SecretRotation = {}, options: IdempotentOptions = {}) =>
      http.json<RotatedWebhook>({
        ...request('POST', id, 'rotate-secret'),
        body: rotation,
        ...idempotent(options),
      }),
    /** Sends a sample event and returns the attempt. A failure at the receiver does not throw. */
    test: (id: string, test: TestDelivery, options: IdempotentOptions = {}) =>
      http.json<TestAttempt>({
        ...request('POST', id, 'test'),
        body: test,
        extraMs: TEST_EXTRA_MS,
        ...idempotent(options),
      }),
    /** Returns which recent events match the given filters, with reasons. */
    preview: (id: string, body: FilterPreviewRequest = {}, { signal }: CallOptions = {}) =>
      http.json<FilterPreview>({ ...request('POST', id, 'preview'), body, isRepeatable: true, signal }),
    /** Resends deliveries that were held, failed or skipped. */
    recover: (id: string, recovery: Recovery, options: IdempotentOptions = {}) =>
      http.json<Recovered>({ ...request('POST', id, 'recover'), body: recovery, ...idempotent(options) }),
    /** Returns hourly statistics of the attempts. */
    stats: (id: string, query: StatsWish = {}, { signal }: CallOptions = {}) =>
      http.json<WebhookStats>({ ...request('GET', id, 'stats'), query, signal }),
  };
}

/** A receiver has 30 s to respond to a test request. */
const TEST_EXTRA_MS = 35_000;

export type Deliveries = ReturnType<typeof createDeliveries>;

/** Creates the methods for the delivery log. */
export function createDeliveries(http: Http) {
  return {
    /** Lists the deliveries of a webhook, newest first. */
    list: (
      webhookId: string,
      filter: DeliveryFilter = {},
      { signal }: CallOptions = {},
    ): Listing<ListedDelivery> =>
      createListing(http, { path: pathOf('webhooks', webhookId, 'deliveries'), query: filter, signal }),
    /** Returns a delivery with its newest 100 attempts. */
    get: (id: string, { signal }: CallOptions = {}) =>
      http.json<DeliveryDetail>({ method: 'GET', path: pathOf('deliveries', id), signal }),
    /** Retries a delivery, now or at a given time. */
    retry: (id: string, retry: DeliveryRetry = {}, options: IdempotentOptions = {}) =>
      http.json<Delivery>({
        method: 'POST',
        path: pathOf('deliveries', id, 'retry'),
        body: retry,
        ...idempotent(options),
      }),
  };
}
