import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KeyRing } from './key-ring.ts';

/** Secrets at rest: AES-256-GCM, bound to a context, so that a copied value cannot be decrypted elsewhere. */
export type Sealing = {
  /**
   * Returns `v1.<key id>.<nonce>.<ciphertext and tag>`, the last two in base64url. `context` is authenticated, not
   * stored.
   */
  seal(plain: string, context: string): string;
  /** @throws SealError if the key is unknown, the context differs, or the text is damaged */
  open(sealed: string, context: string): string;
};

export class SealError extends Error {
  override name = 'SealError';
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts with the first key of the ring and decrypts with any key. */
export function createSealing(ring: KeyRing): Sealing {
  return {
    seal(plain, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', ring.first.bytes, nonce).setAAD(Buffer.from(context));
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return ['v1', ring.first.id, nonce.toString('base64url'), body.toString('base64url')].join('.');
    },
    open(sealed, context) {
      const [version, keyId, nonce, body] = sealed.split('.');
      if (version !== 'v1' || !keyId || !nonce || !body) throw new SealError('not a sealed text');
      const key = ring.find(keyId);
      if (!key) throw new SealError(`the sealing key "${keyId}" is not configured (BATON_SEALING_KEYS)`);
      return decrypt(key, Buffer.from(nonce, 'base64url'), Buffer.from(body, 'base64url'), context);
    },
  };
}

/** Returns the context of the callback secret of a run. */
export function callbackSecretContext(executionId: string): string {
  return `task_runs.callback_secret:${executionId}`;
}

/**
 * Returns the context of the secret of a webhook. The previous secret has the same one, so that a rotation can move
 * it unchanged.
 */
export function webhookSecretContext(webhookId: string): string {
  return `webhooks.secret:${webhookId}`;
}

/** Returns the context of the secrets of the push notifications of a run to one address. */
export function pushSecretsContext({ executionId, id }: { executionId: string; id: string }): string {
  return `push_configs.secrets:${executionId}:${id}`;
}

/** Returns the context of the stored response of an idempotency key; `scope` is the id of its project. */
export function storedResponseContext({ scope, key }: { scope: string; key: string }): string {
  return `idempotency_keys.answer:${scope}:${key}`;
}

/** Returns the id of the key that encrypted a text; empty if it is not a sealed text. */
export function keyIdOf(sealed: string): string {
  return sealed.split('.')[1] ?? '';
}

function decrypt(key: Uint8Array, nonce: Buffer, body: Buffer, context: string): string {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(context)).setAuthTag(body.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(body.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8');
  } catch {
    throw new SealError(
      `cannot decrypt the sealed value for ${context}: wrong key, wrong context, or damaged`,
    );
  }
}
