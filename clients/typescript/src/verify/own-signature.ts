import { fromHex, isSigned } from './hmac.ts';
import { headerOf, type GivenHeaders } from './headers.ts';
import { SignatureError } from './signature-error.ts';

const SCHEME = 'sha256=';
/** The second one is there while a secret is being rotated. */
const NAMES = ['x-service-signature', 'x-service-signature-previous'] as const;

/** True where the request has a signature of this kind. */
export function hasOwnSignature(headers: GivenHeaders): boolean {
  return NAMES.some((name) => headerOf(headers, name) !== null);
}

/** Holds a body against `X-Service-Signature` and its `-Previous`. @throws SignatureError unless one of them fits */
export async function assertOwnSignature(
  body: Uint8Array<ArrayBuffer>,
  headers: GivenHeaders,
  keys: readonly CryptoKey[],
): Promise<void> {
  const given = NAMES.map((name) => headerOf(headers, name)).filter((value) => value !== null);
  const signatures = given
    .map((value) => (value.startsWith(SCHEME) ? fromHex(value.slice(SCHEME.length)) : null))
    .filter((signature) => signature !== null);
  if (signatures.length === 0) {
    throw new SignatureError('malformed_signature', 'X-Service-Signature is not sha256= and 64 hex digits.');
  }
  if (await isSigned(body, signatures, keys)) return;
  throw new SignatureError('mismatch', 'X-Service-Signature does not fit the body and the secret.');
}
