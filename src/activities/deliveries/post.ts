import type { DeliveryToSend } from '../../database/webhooks/dispatch.ts';
import type { AttemptResult } from '../../database/webhooks/delivery-results.ts';
import type { WebhookTarget } from '../../database/webhooks/webhook-targets.ts';
import type { PlannedFor } from '../../domain/webhooks/attempt-conditions.ts';
import type { AttemptTrigger } from '../../domain/webhooks/delivery.ts';
import { DELIVERY_RESPONSE_BYTES, DELIVERY_TIMEOUT_MS } from '../../domain/common/limits.ts';
import {
  requestHeaders,
  storableBody,
  unsentRecord,
  type AttemptRecord,
} from '../../outbound/attempt-record.ts';
import type { OutboundClient } from '../../outbound/attempt.ts';
import { OutboundFailure } from '../../outbound/failure.ts';
import type { AttemptToTrace, Traces } from '../../outbound/traces.ts';
import { toStoredHeaders, toStoredTimings } from '../../domain/webhooks/stored-attempt.ts';
import {
  loggedHeaders,
  webhookHeaders,
  withoutRepeatedSecret,
  type WebhookMessage,
} from '../../outbound/webhook-request.ts';
import type { Relay } from './relay.ts';

/** Dependencies of {@link post}. */
export type PostDependencies = {
  sender: OutboundClient;
  /** For webhooks with a listener. */
  relay: Relay;
  /** Opens a sealed secret of a webhook. @throws OutboundFailure if it cannot be opened */
  openSecret(sealed: string, webhookId: string): string;
  /** Creates the trace spans of attempts. */
  traces: Traces;
};

/** A delivery to post. */
export type Post = Pick<
  DeliveryToSend,
  'id' | 'webhook_id' | 'workspace_id' | 'event' | 'timestamp' | 'traceparent' | keyof PlannedFor
> & { body: Buffer };

/**
 * Posts a delivery once, with the current settings of the webhook, and returns the result to record. Never rejects
 * because of the receiver or an unreadable secret. `now` returns the time by Temporal's clock.
 */
export async function post(
  deps: PostDependencies,
  endpoint: WebhookTarget,
  delivery: Post,
  attempt: {
    trigger: AttemptTrigger;
    token: string | null;
    begun: Date;
    now: () => Date;
    signal: AbortSignal | undefined;
  },
): Promise<AttemptResult> {
  const { begun, trigger, token } = attempt;
  const traced = deps.traces.begin(tracedAs(endpoint, delivery, trigger));
  let record: AttemptRecord | null = null;
  let headers: Record<string, string> = {};
  try {
    headers = requestHeaders({ ...headersOf(deps, endpoint, delivery, begun), ...traced.headers });
    record = await send(deps, endpoint, delivery, headers, attempt.signal);
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error;
    record = unsentRecord(error, begun);
  } finally {
    traced.end(record);
  }
  return {
    delivery_id: delivery.id,
    webhook_id: delivery.webhook_id,
    workspace_id: delivery.workspace_id,
    generation: delivery.generation,
    failures: delivery.failures,
    enabled_count: endpoint.enabled_count,
    trigger,
    token,
    new_delivery: null,
    attempted_at: begun.toISOString(),
    completed_at: attempt.now().toISOString(),
    url: endpoint.url,
    request_headers: toStoredHeaders(loggedHeaders(headers), messageOf(delivery)),
    ...outcomeOf(record, headers),
  };
}

function tracedAs(
  { url }: WebhookTarget,
  { id, webhook_id, event }: Post,
  trigger: AttemptTrigger,
): AttemptToTrace {
  return {
    of: 'webhook',
    url,
    attributes: {
      'baton.delivery_id': id,
      'baton.webhook_id': webhook_id,
      'baton.event': event,
      'baton.trigger': trigger,
    },
  };
}

function headersOf(
  deps: PostDependencies,
  endpoint: WebhookTarget,
  delivery: Post,
  now: Date,
): Record<string, string> {
  return webhookHeaders(messageOf(delivery), signingOf(deps, endpoint, now), now);
}

function messageOf({ id: deliveryId, event, timestamp, body }: Post): WebhookMessage {
  return { deliveryId, event, timestamp, body };
}

/** Sends the request to the webhook's URL, or to its listener. */
async function send(
  { sender, relay }: PostDependencies,
  endpoint: WebhookTarget,
  { id: deliveryId, event, body }: Post,
  headers: Record<string, string>,
  signal: AbortSignal | undefined,
): Promise<AttemptRecord> {
  const request = { headers, body, timeoutMs: DELIVERY_TIMEOUT_MS, ...(signal ? { signal } : {}) };
  if (endpoint.listening_until === null) {
    return await sender.attempt({ ...request, url: endpoint.url, maxResponseBytes: DELIVERY_RESPONSE_BYTES });
  }
  return await relay.attempt({ ...request, webhookId: endpoint.id, deliveryId, event });
}

function signingOf({ openSecret }: PostDependencies, endpoint: WebhookTarget, now: Date) {
  const { id, secret, previous_secret: previous, previous_secret_until: until } = endpoint;
  const overlaps = previous !== null && until !== null && now < until;
  return {
    secret: secret === null ? null : openSecret(secret, id),
    previousSecret: overlaps ? openSecret(previous, id) : null,
    // A relayed request is stored for a short time and must not contain the secret.
    includeSecretHeader: endpoint.include_secret_header && endpoint.listening_until === null,
    standardWebhooks: endpoint.standard_webhooks,
  };
}

function outcomeOf(
  { outcome, response, failure, message, address, timings, duration_ms }: AttemptRecord,
  sent: Record<string, string>,
) {
  const received = { headers: response?.headers ?? null, body: storableBody(response) };
  const { headers, body } = withoutRepeatedSecret(received, sent);
  return {
    succeeded: outcome === 'succeeded',
    response_status: response?.status ?? null,
    response_headers: headers,
    response_body: body,
    response_truncated: response?.truncated ?? null,
    failure,
    message,
    address,
    timings: toStoredTimings(timings),
    response_ms: duration_ms,
  };
}
