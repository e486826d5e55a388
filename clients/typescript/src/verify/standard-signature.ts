import { concatenate, decodeBase64, isSigned } from './hmac.ts';
import { getHeader, type GivenHeaders } from './headers.ts';
import { SignatureError } from './signature-error.ts';

const SCHEME = 'v1,';

/** Returns true if the request has a signature of Standard Webhooks. */
export function hasStandardSignature(headers: GivenHeaders): boolean {
  return getHeader(headers, 'webhook-signature') !== null;
}

/**
 * Verifies a body with the headers of Standard Webhooks 1.0.0. The signature covers the body, the id and the time of the
 * attempt. The time may differ from `now` by `toleranceSeconds` in both directions. `null` allows any time.
 * @throws SignatureError if the headers are malformed, the signature does not match, or the time is out of range
 */
export async function assertStandardSignature(
  body: Uint8Array<ArrayBuffer>,
  headers: GivenHeaders,
  keys: readonly CryptoKey[],
  { toleranceSeconds, now }: { toleranceSeconds: number | null; now: Date },
): Promise<void> {
  const id = getHeader(headers, 'webhook-id');
  const timestamp = getHeader(headers, 'webhook-timestamp') ?? '';
  const signatures = (getHeader(headers, 'webhook-signature') ?? '')
    .split(' ')
    .map((entry) => (entry.startsWith(SCHEME) ? decodeBase64(entry.slice(SCHEME.length)) : null))
    .filter((signature) => signature !== null);
  if (id === null || !/^\d{1,12}$/.test(timestamp) || signatures.length === 0) {
    throw new SignatureError(
      'malformed_signature',
      'The Standard Webhooks headers are incomplete or malformed.',
    );
  }
  if (!(await isSigned(concatenate(`${id}.${timestamp}.`, body), signatures, keys))) {
    throw new SignatureError(
      'mismatch',
      'webhook-signature does not match the body, webhook-id, webhook-timestamp and the secret.',
    );
  }
  const age = now.getTime() / 1_000 - Number(timestamp);
  if (toleranceSeconds === null || Math.abs(age) <= toleranceSeconds) return;
  const [reason, direction] =
    age > 0 ? (['too_old', 'in the past'] as const) : (['too_new', 'in the future'] as const);
  throw new SignatureError(reason, `webhook-timestamp is ${Math.round(Math.abs(age))} s ${direction}.`);
}
