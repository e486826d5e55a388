import { createHmac } from 'node:crypto';

/**
 * Returns the value of `X-Service-Signature` for a body: `sha256=` and the HMAC-SHA256 of exactly these bytes in
 * lowercase hex (docs/callbacks.md). The key is the UTF-8 bytes of the secret as text, so a secret that looks like
 * hex is not decoded (docs/receiving.md).
 */
export function signature(secret: string, body: Uint8Array): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}
