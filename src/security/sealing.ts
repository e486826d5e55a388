import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KeyRing } from './key-ring.ts';

/** Secrets at rest: AES-256-GCM, bound to the place they belong to, so that a copied value opens nowhere else. */
export type Sealing = {
  /** `v1.<key id>.<nonce>.<ciphertext and tag>`, the last two in base64url. `place` is authenticated, not stored. */
  seal(plain: string, place: string): string;
  /** @throws SealError where the key is unknown, the place another, or the text damaged */
  open(sealed: string, place: string): string;
};

export class SealError extends Error {
  override name = 'SealError';
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Seals with the ring's first key and opens with any of them. */
export function createSealing(ring: KeyRing): Sealing {
  return {
    seal(plain, place) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', ring.first.bytes, nonce).setAAD(Buffer.from(place));
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return ['v1', ring.first.id, nonce.toString('base64url'), body.toString('base64url')].join('.');
    },
    open(sealed, place) {
      const [version, keyId, nonce, body] = sealed.split('.');
      if (version !== 'v1' || !keyId || !nonce || !body) throw new SealError('not a sealed text');
      const key = ring.find(keyId);
      if (!key) throw new SealError(`the sealing key "${keyId}" is not configured (BATON_SEALING_KEYS)`);
      return decrypt(key, Buffer.from(nonce, 'base64url'), Buffer.from(body, 'base64url'), place);
    },
  };
}

/** Where the callback secret of a run belongs. */
export function callbackSecretPlace(executionId: string): string {
  return `task_runs.callback_secret:${executionId}`;
}

/** Where the secret of a webhook belongs, and the one before it, so that a rotation moves it as it is. */
export function webhookSecretPlace(webhookId: string): string {
  return `webhooks.secret:${webhookId}`;
}

/** Where the kept answer of an idempotency key belongs; `scope` is the id of its project. */
export function answerPlace({ scope, key }: { scope: string; key: string }): string {
  return `idempotency_keys.answer:${scope}:${key}`;
}

/** The id of the key that a text was sealed with; empty where it is no sealed text. */
export function keyIdOf(sealed: string): string {
  return sealed.split('.')[1] ?? '';
}

function decrypt(key: Uint8Array, nonce: Buffer, body: Buffer, place: string): string {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(place)).setAuthTag(body.subarray(-TAG_BYTES));
    return Buffer.concat([decipher.update(body.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8');
  } catch {
    throw new SealError(`cannot decrypt the sealed value for ${place}: wrong key, wrong place, or damaged`);
  }
}
