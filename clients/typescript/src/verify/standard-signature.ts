import { fromBase64, isSigned, joined } from './hmac.ts';
import { headerOf, type GivenHeaders } from './headers.ts';
import { SignatureError } from './signature-error.ts';

const SCHEME = 'v1,';

/** True where the request is signed by Standard Webhooks, too. */
export function hasStandardSignature(headers: GivenHeaders): boolean {
  return headerOf(headers, 'webhook-signature') !== null;
}

/**
 * Holds a body against the headers of Standard Webhooks 1.0.0, which sign the id and the time of the attempt with it.
 * `toleranceSeconds` either way are allowed; null allows any time.
 * @throws SignatureError
 */
export async function assertStandardSignature(
  body: Uint8Array<ArrayBuffer>,
  headers: GivenHeaders,
  keys: readonly CryptoKey[],
  { toleranceSeconds, now }: { toleranceSeconds: number | null; now: Date },
): Promise<void> {
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp') ?? '';
  const signatures = (headerOf(headers, 'webhook-signature') ?? '')
    .split(' ')
    .map((one) => (one.startsWith(SCHEME) ? fromBase64(one.slice(SCHEME.length)) : null))
    .filter((signature) => signature !== null);
  if (id === null || !/^\d{1,12}$/.test(timestamp) || signatures.length === 0) {
    throw new SignatureError('malformed_signature', 'The headers of Standard Webhooks are not complete.');
  }
  if (!(await isSigned(joined(`${id}.${timestamp}.`, body), signatures, keys))) {
    throw new SignatureError(
      'mismatch',
      'webhook-signature does not fit the body, its id, its time and the secret.',
    );
  }
  const age = now.getTime() / 1_000 - Number(timestamp);
  if (toleranceSeconds === null || Math.abs(age) <= toleranceSeconds) return;
  const [reason, words] = age > 0 ? (['too_old', 'ago'] as const) : (['too_new', 'ahead'] as const);
  throw new SignatureError(reason, `It was signed ${Math.round(Math.abs(age))} s ${words}.`);
}
