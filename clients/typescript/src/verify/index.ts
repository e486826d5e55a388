import { importKey, toBytes, type RawBody } from './hmac.ts';
import type { GivenHeaders } from './headers.ts';
import type { CallbackPayload, WebhookPayload } from './payloads.ts';
import { assertServiceSignature, hasServiceSignature } from './service-signature.ts';
import { SignatureError } from './signature-error.ts';
import { assertStandardSignature, hasStandardSignature } from './standard-signature.ts';

export type { RawBody } from './hmac.ts';
export type { GivenHeaders } from './headers.ts';
export type { CallbackPayload, WebhookPayload, WebhookPayloadOf } from './payloads.ts';
export { SignatureError, type SignatureReason } from './signature-error.ts';

export type VerifyOptions = {
  /** How far a signed time may differ from now, in seconds. Default: 300. `null` allows any time. */
  toleranceSeconds?: number | null | undefined;
  /**
   * Rejects a request without a signed time, which protects against replayed requests. The webhook must have
   * `standard_webhooks` enabled. Default: false.
   */
  requireTimestamp?: boolean | undefined;
  /** The time to compare with. Default: the current time. */
  now?: Date | undefined;
};

const TOLERANCE_SECONDS = 300;

/**
 * Verifies the signature of a callback and returns its payload. `rawBody` is the body as received, before parsing.
 * `secret` is the `callback_secret` in the response to the submission.
 * @throws SignatureError if the request is not genuine
 * @throws TypeError if the secret is empty
 */
export async function verifyCallback(
  rawBody: RawBody,
  headers: GivenHeaders,
  secret: string,
): Promise<CallbackPayload> {
  const body = toBytes(rawBody);
  const keys = [await importKey(secret)];
  if (!hasServiceSignature(headers)) throw missingSignature();
  await assertServiceSignature(body, headers, keys);
  return parseBody(body, ['execution_id', 'status']) as CallbackPayload;
}

/**
 * Verifies the signatures of a delivery and returns its payload. Reads `X-Service-Signature`,
 * `X-Service-Signature-Previous` while a secret is being rotated, and the headers of Standard Webhooks if the webhook
 * sends them. Each of the two schemes that is present must match one of the secrets. Only Standard Webhooks sign the
 * time of the attempt.
 * @throws SignatureError if the request is not genuine, or if its signed time is out of range
 * @throws TypeError if a secret is empty or none is given
 */
export async function verifyWebhook(
  rawBody: RawBody,
  headers: GivenHeaders,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<WebhookPayload> {
  const { toleranceSeconds = TOLERANCE_SECONDS, requireTimestamp = false, now = new Date() } = options;
  const secrets = typeof secret === 'string' ? [secret] : secret;
  if (secrets.length === 0) throw new TypeError('No secret is given.');
  const body = toBytes(rawBody);
  const keys = await Promise.all(secrets.map(importKey));
  const isStandard = hasStandardSignature(headers);
  if (!isStandard && !hasServiceSignature(headers)) throw missingSignature();
  if (!isStandard && requireTimestamp) {
    throw new SignatureError(
      'missing_timestamp',
      'A signed time is required, but the Standard Webhooks headers are missing.',
    );
  }
  if (hasServiceSignature(headers)) await assertServiceSignature(body, headers, keys);
  if (isStandard) await assertStandardSignature(body, headers, keys, { toleranceSeconds, now });
  return parseBody(body, ['id', 'event', 'data']) as WebhookPayload;
}

function missingSignature(): SignatureError {
  return new SignatureError('missing_signature', 'The request has no signature.');
}

/**
 * Parses a JSON object with at least the given fields.
 * @throws SignatureError for any other body
 */
function parseBody(body: Uint8Array, fields: readonly string[]): unknown {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    if (value !== null && typeof value === 'object' && fields.every((name) => name in value)) return value;
  } catch {
    // Handled like an object without the fields.
  }
  throw new SignatureError(
    'unexpected_body',
    `The body is not valid JSON with the fields ${fields.join(', ')}.`,
  );
}
