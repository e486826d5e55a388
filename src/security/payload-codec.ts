import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import type { KeyRing } from './key-ring.ts';

/** Marks encrypted payloads in their metadata. */
const ENCODING = 'binary/encrypted';
const CIPHER = 'AES-256-GCM';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A payload that cannot be decrypted: its key is not configured, or it was modified. */
export class PayloadError extends Error {
  override name = 'PayloadError';
}

/**
 * Encrypts payloads for Temporal with the first key and decrypts them with any key: inputs, results, signals, query
 * results, failures. Clear-text payloads, from before encryption or from an operator, are accepted.
 */
export function createPayloadCodec(ring: KeyRing): PayloadCodec {
  return {
    encode: async (payloads) =>
      payloads.map((payload) => (isEncrypted(payload) ? payload : encrypt(ring, payload))),
    decode: async (payloads) =>
      payloads.map((payload) => (isEncrypted(payload) ? decrypt(ring, payload) : payload)),
  };
}

/** Returns true if this codec encrypted the payload. */
export function isEncrypted({ metadata }: Payload): boolean {
  return textOf(metadata?.['encoding']) === ENCODING;
}

function encrypt({ first }: KeyRing, payload: Payload): Payload {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', first.bytes, nonce).setAAD(Buffer.from(first.id));
  const data = Buffer.concat([nonce, cipher.update(packed(payload)), cipher.final(), cipher.getAuthTag()]);
  const metadata = { encoding: ENCODING, 'encryption-cipher': CIPHER, 'encryption-key-id': first.id };
  const entries = Object.entries(metadata).map(([name, value]) => [name, Buffer.from(value)] as const);
  return { metadata: Object.fromEntries(entries), data };
}

function decrypt(ring: KeyRing, { metadata, data }: Payload): Payload {
  const id = textOf(metadata?.['encryption-key-id']);
  const key = ring.find(id);
  if (!key) throw new PayloadError(`the payload key "${id}" is not configured (BATON_PAYLOAD_KEYS)`);
  const bytes = Buffer.from(data ?? []);
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
      .setAAD(Buffer.from(id))
      .setAuthTag(bytes.subarray(-TAG_BYTES));
    return unpacked(
      Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]),
    );
  } catch (error) {
    throw new PayloadError(`cannot decrypt a payload with the key "${id}"`, { cause: error });
  }
}

/** Returns a payload as bytes: the length of its metadata, its metadata as JSON, its data. */
function packed({ metadata, data }: Payload): Buffer {
  const entries = Object.entries(metadata ?? {}).map(([name, value]) => [
    name,
    Buffer.from(value).toString('base64'),
  ]);
  const head = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.length);
  return Buffer.concat([length, head, data ?? Buffer.alloc(0)]);
}

function unpacked(bytes: Buffer): Payload {
  const end = 4 + bytes.readUInt32BE(0);
  const head = JSON.parse(bytes.toString('utf8', 4, end)) as Record<string, string>;
  const entries = Object.entries(head).map(([name, value]) => [name, Buffer.from(value, 'base64')] as const);
  return { metadata: Object.fromEntries(entries), data: bytes.subarray(end) };
}

function textOf(bytes: Uint8Array | null | undefined): string {
  return Buffer.from(bytes ?? []).toString('utf8');
}
