import { createHmac } from 'node:crypto';

/**
 * The value of `X-Service-Signature` for a body: `sha256=` and the HMAC-SHA256 of exactly these bytes in
 * lowercase hex (docs/callbacks.md). The key is the secret's UTF-8 bytes as the caller got it, so a secret that
 * looks like hex is not decoded first (docs/receiving.md).
 */
export function signature(secret: string, body: Uint8Array): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}
