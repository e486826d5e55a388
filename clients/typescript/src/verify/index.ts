import { bytesOf, keyOf, type RawBody } from './hmac.ts';
import type { GivenHeaders } from './headers.ts';
import { assertOwnSignature, hasOwnSignature } from './own-signature.ts';
import type { CallbackPayload, WebhookPayload } from './payloads.ts';
import { SignatureError } from './signature-error.ts';
import { assertStandardSignature, hasStandardSignature } from './standard-signature.ts';

export type { RawBody } from './hmac.ts';
export type { GivenHeaders } from './headers.ts';
export type { CallbackPayload, WebhookPayload, WebhookPayloadOf } from './payloads.ts';
export { SignatureError, type SignatureReason } from './signature-error.ts';

export type VerifyOptions = {
  /** How far the time of an attempt may be from now where it is signed; 300 unless given, null for any. */
  toleranceSeconds?: number | null | undefined;
  /** True: what has no signed time is refused, so that no old copy is taken. The webhook needs `standard_webhooks`. */
  requireTimestamp?: boolean | undefined;
  /** The present time, unless it is now. */
  now?: Date | undefined;
};

const TOLERANCE_SECONDS = 300;

/**
 * The callback in a request, once its signature is checked. `rawBody` is the body as it came over the wire, before
 * anything parsed it; `secret` the `callback_secret` of the submission's answer.
 * @throws SignatureError where it is not genuine
 */
export async function verifyCallback(
  rawBody: RawBody,
  headers: GivenHeaders,
  secret: string,
): Promise<CallbackPayload> {
  const body = bytesOf(rawBody);
  const keys = [await keyOf(secret)];
  if (!hasOwnSignature(headers)) throw unsigned();
  await assertOwnSignature(body, headers, keys);
  return parsed(body, ['execution_id', 'status']) as CallbackPayload;
}

/**
 * The event in a delivery, once its signature is checked: `X-Service-Signature`, `X-Service-Signature-Previous` while a
 * secret is being rotated, and Standard Webhooks where the webhook sends it. What is there must fit one of the secrets.
 * Only Standard Webhooks sign the time of the attempt.
 * @throws SignatureError where it is not genuine, or too old
 */
export async function verifyWebhook(
  rawBody: RawBody,
  headers: GivenHeaders,
  secret: string | readonly string[],
  options: VerifyOptions = {},
): Promise<WebhookPayload> {
  const { toleranceSeconds = TOLERANCE_SECONDS, requireTimestamp = false, now = new Date() } = options;
  const secrets = typeof secret === 'string' ? [secret] : secret;
  if (secrets.length === 0) throw new TypeError('There is no secret.');
  const body = bytesOf(rawBody);
  const keys = await Promise.all(secrets.map(keyOf));
  const isStandard = hasStandardSignature(headers);
  if (!isStandard && !hasOwnSignature(headers)) throw unsigned();
  if (!isStandard && requireTimestamp) {
    throw new SignatureError('missing_timestamp', 'The headers of Standard Webhooks are missing.');
  }
  if (hasOwnSignature(headers)) await assertOwnSignature(body, headers, keys);
  if (isStandard) await assertStandardSignature(body, headers, keys, { toleranceSeconds, now });
  return parsed(body, ['id', 'event', 'data']) as WebhookPayload;
}

function unsigned(): SignatureError {
  return new SignatureError('missing_signature', 'The request has no signature.');
}

/** JSON with at least these members. */
function parsed(body: Uint8Array, members: readonly string[]): unknown {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    if (value !== null && typeof value === 'object' && members.every((name) => name in value)) return value;
  } catch {
    // told of below
  }
  throw new SignatureError('unexpected_body', `The body is no JSON with ${members.join(', ')}.`);
}
