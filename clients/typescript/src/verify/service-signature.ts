import { decodeHex, isSigned } from './hmac.ts';
import { getHeader, type GivenHeaders } from './headers.ts';
import { SignatureError } from './signature-error.ts';

const SCHEME = 'sha256=';
/** The second header is present while a secret is being rotated. */
const NAMES = ['x-service-signature', 'x-service-signature-previous'] as const;

/** Returns true if the request has a signature in `X-Service-Signature` or its `-Previous`. */
export function hasServiceSignature(headers: GivenHeaders): boolean {
  return NAMES.some((name) => getHeader(headers, name) !== null);
}

/**
 * Verifies a body with `X-Service-Signature` and its `-Previous`.
 * @throws SignatureError unless one of them matches
 */
export async function assertServiceSignature(
  body: Uint8Array<ArrayBuffer>,
  headers: GivenHeaders,
  keys: readonly CryptoKey[],
): Promise<void> {
  const values = NAMES.map((name) => getHeader(headers, name)).filter((value) => value !== null);
  const signatures = values
    .map((value) => (value.startsWith(SCHEME) ? decodeHex(value.slice(SCHEME.length)) : null))
    .filter((signature) => signature !== null);
  if (signatures.length === 0) {
    throw new SignatureError(
      'malformed_signature',
      'X-Service-Signature must be sha256= followed by 64 lowercase hex digits.',
    );
  }
  if (await isSigned(body, signatures, keys)) return;
  throw new SignatureError('mismatch', 'X-Service-Signature does not match the body and the secret.');
}
