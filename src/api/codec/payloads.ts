import type { Payload } from '@temporalio/common';

/** A payload in the JSON form of Temporal's tools, with base64 values. */
export type JsonPayload = { metadata?: Record<string, string>; data?: string };

export function toPayload({ metadata, data }: JsonPayload): Payload {
  const entries = Object.entries(metadata ?? {}).map(
    ([name, value]) => [name, Buffer.from(value, 'base64')] as const,
  );
  return { metadata: Object.fromEntries(entries), data: Buffer.from(data ?? '', 'base64') };
}

export function toJson({ metadata, data }: Payload): JsonPayload {
  const entries = Object.entries(metadata ?? {}).map(
    ([name, value]) => [name, Buffer.from(value).toString('base64')] as const,
  );
  return { metadata: Object.fromEntries(entries), data: Buffer.from(data ?? []).toString('base64') };
}

export function isPayloadList(value: unknown): value is JsonPayload[] {
  return Array.isArray(value) && value.every(isJsonPayload);
}

function isJsonPayload(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { metadata = {}, data = '' } = value as JsonPayload;
  return (
    typeof data === 'string' &&
    typeof metadata === 'object' &&
    metadata !== null &&
    Object.values(metadata).every((one) => typeof one === 'string')
  );
}
