import type { DeliveryToSend } from '../../database/dispatch.ts';
import type { AttemptResult } from '../../database/delivery-results.ts';
import type { Endpoint } from '../../database/endpoints.ts';
import type { AttemptTrigger } from '../../domain/delivery.ts';
import { DELIVERY_RESPONSE_BYTES, DELIVERY_TIMEOUT_MS } from '../../domain/limits.ts';
import { requestHeaders, storableBody, type AttemptRecord } from '../../outbound/attempt-record.ts';
import type { Sender } from '../../outbound/attempt.ts';
import { loggedHeaders, webhookHeaders } from '../../outbound/webhook-request.ts';
import type { Relay } from './relay.ts';

/** What posting needs. */
export type PostMeans = {
  sender: Sender;
  /** For webhooks that somebody listens to. */
  relay: Relay;
  /** Opens a sealed secret of a webhook. */
  openSecret(sealed: string, webhookId: string): string;
};

/** A delivery as it is posted. */
export type Post = Pick<
  DeliveryToSend,
  'id' | 'webhook_id' | 'workspace_id' | 'event' | 'timestamp' | 'generation'
> & { body: Buffer };

/**
 * Posts a delivery once, as the webhook is set up at this moment, and tells what became of it as a result to be
 * recorded. Never rejects for what the receiver does. `now` is the time by the engine's clock.
 * @throws SealError where the webhook's secret can not be opened
 */
export async function post(
  means: PostMeans,
  endpoint: Endpoint,
  delivery: Post,
  attempt: { trigger: AttemptTrigger; begun: Date; now: () => Date; signal?: AbortSignal },
): Promise<AttemptResult> {
  const { begun } = attempt;
  const message = {
    deliveryId: delivery.id,
    event: delivery.event,
    timestamp: delivery.timestamp,
    body: delivery.body,
  };
  const headers = requestHeaders(webhookHeaders(message, signingOf(means, endpoint, begun), begun));
  const limits = { timeoutMs: DELIVERY_TIMEOUT_MS, ...(attempt.signal ? { signal: attempt.signal } : {}) };
  const { body } = delivery;
  const record =
    endpoint.listening_until === null
      ? await means.sender.attempt({
          url: endpoint.url,
          headers,
          body,
          maxResponseBytes: DELIVERY_RESPONSE_BYTES,
          ...limits,
        })
      : await means.relay.attempt({
          webhookId: endpoint.id,
          deliveryId: delivery.id,
          event: delivery.event,
          headers,
          body,
          ...limits,
        });
  return {
    delivery_id: delivery.id,
    webhook_id: delivery.webhook_id,
    workspace_id: delivery.workspace_id,
    generation: delivery.generation,
    trigger: attempt.trigger,
    attempted_at: begun.toISOString(),
    completed_at: attempt.now().toISOString(),
    url: endpoint.url,
    request_headers: loggedHeaders(headers),
    ...outcomeOf(record),
  };
}

function signingOf({ openSecret }: PostMeans, endpoint: Endpoint, now: Date) {
  const { id, secret, previous_secret: previous, previous_secret_until: until } = endpoint;
  const overlaps = previous !== null && until !== null && now < until;
  return {
    secret: secret === null ? null : openSecret(secret, id),
    previousSecret: overlaps ? openSecret(previous, id) : null,
    // A request that lies in the database for a moment holds no secret.
    includeSecretHeader: endpoint.include_secret_header && endpoint.listening_until === null,
    standardWebhooks: endpoint.standard_webhooks,
  };
}

function outcomeOf({ outcome, response, failure, message, address, timings, duration_ms }: AttemptRecord) {
  return {
    succeeded: outcome === 'succeeded',
    response_status: response?.status ?? null,
    response_headers: response?.headers ?? null,
    response_body: storableBody(response),
    response_truncated: response?.truncated ?? null,
    failure,
    message,
    address,
    timings,
    response_ms: duration_ms,
  };
}
