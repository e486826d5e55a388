import { createHmac } from 'node:crypto';
import { MASKED } from '../domain/webhooks/delivery.ts';
import { signature } from './sign.ts';

/** How a webhook signs. Secrets are in clear text, and stay in memory for a second or as long as the attempt. */
export type Signing = {
  secret: string | null;
  /** The previous secret during an overlap, otherwise null. */
  previousSecret: string | null;
  includeSecretHeader: boolean;
  standardWebhooks: boolean;
};

/** The content of a delivery, without its signature. */
export type WebhookMessage = {
  deliveryId: string;
  event: string;
  /** The time of the event. */
  timestamp: Date;
  body: Buffer;
};

type Headers = Readonly<Record<string, string>>;

const SECRET_HEADER = 'x-webhook-secret';
const SIGNATURE_HEADERS = ['x-service-signature', 'x-service-signature-previous', 'webhook-signature'];

/**
 * Returns the headers of a webhook delivery (docs/receiving.md). `now` is the time of the attempt, which only the
 * Standard Webhooks headers contain. Without a secret there is no signature.
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

/** Returns the headers for the log, with the secret masked. */
export function loggedHeaders(headers: Headers): Headers {
  return maskHeaders(headers, [SECRET_HEADER]);
}

/**
 * Returns headers for readers who may not send: a valid signature of a request would let them send the same request to
 * the receiver.
 */
export function withoutSignatures(headers: Headers): Headers {
  return maskHeaders(headers, SIGNATURE_HEADERS);
}

/** The parts of a response that are stored and shown. */
export type Shown = { headers: Record<string, string> | null; body: string | null };

/** Shorter values would also match ordinary text. */
const SHORTEST_MASKED = 6;

/** Returns a response without the secret of its request (`sent`), which error pages of receivers may repeat. */
export function withoutRepeatedSecret(response: Shown, sent: Headers): Shown {
  return withoutValues(response, [sent[SECRET_HEADER] ?? '']);
}

/** Returns a response without the signatures of its request, for the readers of {@link withoutSignatures}. */
export function withoutRepeatedSignatures(response: Shown, sent: Headers): Shown {
  const values = SIGNATURE_HEADERS.flatMap((name) => sent[name]?.split(' ') ?? []);
  // Without the algorithm or version in front.
  return withoutValues(
    response,
    values.map((value) => value.replace(/^(?:sha256=|v1,)/, '')),
  );
}

/** Returns a response with these values masked, also where JSON repeats them. */
export function withoutValues({ headers, body }: Shown, values: readonly string[]): Shown {
  const hidden = values
    .filter((value) => value.length >= SHORTEST_MASKED)
    .flatMap((value) => [value, JSON.stringify(value).slice(1, -1)]);
  if (hidden.length === 0) return { headers, body };
  const masked = (text: string) => hidden.reduce((left, value) => left.replaceAll(value, MASKED), text);
  const entries = headers && Object.entries(headers).map(([name, value]) => [name, masked(value)]);
  return { headers: entries && Object.fromEntries(entries), body: body && masked(body) };
}

function maskHeaders(headers: Headers, names: readonly string[]): Headers {
  const masked = { ...headers };
  for (const name of names) if (Object.hasOwn(masked, name)) masked[name] = MASKED;
  return masked;
}

/**
 * Returns the Standard Webhooks headers (version 1.0.0): the id of the delivery, the same in all attempts, and the
 * time of the attempt. The key is the bytes of the secret, which their libraries take as `whsec_` and its base64.
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
