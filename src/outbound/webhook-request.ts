import { createHmac } from 'node:crypto';
import { MASKED } from '../domain/webhooks/delivery.ts';
import { signature } from './sign.ts';

/** How a webhook signs. Secrets are in clear here, and live no longer than the attempt. */
export type Signing = {
  secret: string | null;
  /** The one before, while it signs too; null outside an overlap. */
  previousSecret: string | null;
  includeSecretHeader: boolean;
  standardWebhooks: boolean;
};

/** What a delivery sends, apart from who signs it. */
export type WebhookMessage = {
  deliveryId: string;
  event: string;
  /** The event's own time. */
  timestamp: Date;
  body: Buffer;
};

const SECRET_HEADER = 'x-webhook-secret';

/**
 * The headers of a webhook delivery (docs/receiving.md). `now` is the attempt's time, which only the Standard
 * Webhooks headers carry. No secret, no signature.
 */
export function webhookHeaders(message: WebhookMessage, signing: Signing, now: Date): Record<string, string> {
  const { secret, previousSecret, includeSecretHeader, standardWebhooks } = signing;
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'x-service-event': message.event,
    'x-service-delivery': message.deliveryId,
    'x-service-timestamp': message.timestamp.toISOString(),
  };
  if (secret === null) return headers;
  headers['x-service-signature'] = signature(secret, message.body);
  if (previousSecret !== null) {
    headers['x-service-signature-previous'] = signature(previousSecret, message.body);
  }
  if (includeSecretHeader) headers[SECRET_HEADER] = secret;
  if (standardWebhooks) {
    const secrets = previousSecret === null ? [secret] : [secret, previousSecret];
    Object.assign(headers, standardHeaders(message, secrets, now));
  }
  return headers;
}

/** The headers as the log shows them: a secret that was sent is masked. */
export function loggedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return SECRET_HEADER in headers ? { ...headers, [SECRET_HEADER]: MASKED } : { ...headers };
}

/**
 * The Standard Webhooks headers (version 1.0.0): the id is the delivery's, the same in all attempts, the time the
 * attempt's. Their key is our secret's bytes, which their libraries take as `whsec_` and its base64.
 */
function standardHeaders(
  { deliveryId, body }: WebhookMessage,
  secrets: readonly string[],
  now: Date,
): Record<string, string> {
  const seconds = Math.floor(now.getTime() / 1_000);
  const sign = (secret: string) =>
    `v1,${createHmac('sha256', secret).update(`${deliveryId}.${seconds}.`).update(body).digest('base64')}`;
  return {
    'webhook-id': deliveryId,
    'webhook-timestamp': String(seconds),
    'webhook-signature': secrets.map(sign).join(' '),
  };
}
