import type { AttemptTimings } from '../domain/webhooks/delivery.ts';
import type { FailureKind } from '../domain/common/failure-kinds.ts';
import { remembering } from '../domain/common/remembering.ts';
import type { OutboundFailure } from './failure.ts';

/** One POST request of a caller. */
export type AttemptRequest = {
  /** http or https; user name, password and fragment are refused. */
  url: string;
  /** Complete, as {@link requestHeaders} returns them; only the spelling of the names changes. */
  headers: Readonly<Record<string, string>>;
  /** Sent byte for byte. */
  body: Uint8Array;
  /** Time limit of the whole attempt, from the DNS lookup to the last byte of the response, in milliseconds. */
  timeoutMs: number;
  /** Maximum stored size of the response body, in bytes. If more arrives, the connection is closed. */
  maxResponseBytes: number;
  /** Aborts the attempt, with failure kind `aborted`. */
  signal?: AbortSignal;
};

/** A response, or the part of it that arrived. Bodies are bytes as received, never decompressed. */
export type AttemptResponse = {
  status: number;
  /** Names in lower case; several values of one name are joined with a comma. */
  headers: Record<string, string>;
  body: Buffer;
  /** True if the body was longer than the stored part. */
  truncated: boolean;
};

/** The result of one attempt. */
export type AttemptRecord = {
  /** `succeeded` means a 2xx status, within the limits. */
  outcome: 'succeeded' | 'failed';
  failure: FailureKind | null;
  /** Why it failed, in one sentence without secrets and without parts of the URL. */
  message: string | null;
  /** The address of the connection, or the last one tried. */
  address: string | null;
  response: AttemptResponse | null;
  timings: AttemptTimings;
  started_at: Date;
  /** Whole milliseconds. */
  duration_ms: number;
};

const DEFAULT_HEADERS: Readonly<Record<string, string>> = {
  accept: '*/*',
  'accept-encoding': 'identity',
  'user-agent': 'Baton',
};

/** Names that their specifications spell in lower case: W3C Trace Context and Standard Webhooks. */
const LOWER_CASE = /^(?:trace|webhook-)/;

/**
 * Returns headers with the names spelled as in their specifications, such as `X-Service-Signature` and `A2A-Version`: some
 * receivers compare names exactly.
 */
export function spelledHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) result[spelled(name)] = value;
  return result;
}

/** Requests have the same few names. */
const spelled = remembering((name) =>
  LOWER_CASE.test(name) ? name : name.replaceAll(/(?<=^|-)(?:a2a|[a-z])/g, (start) => start.toUpperCase()),
);

/**
 * Returns the headers of a request as sent, without `host`, `connection` and `content-length`: names in lower case,
 * with defaults for missing ones. For callers that record a request before it is sent.
 */
export function requestHeaders(own: Readonly<Record<string, string>>): Record<string, string> {
  const headers: Record<string, string> = { ...DEFAULT_HEADERS };
  for (const [name, value] of Object.entries(own)) headers[name.toLowerCase()] = value;
  return headers;
}

/** Returns the body of a response as text that PostgreSQL can store, which excludes NUL. */
export function storableBody(response: AttemptResponse | null): string | null {
  return response?.body.toString('utf8').replaceAll('\u0000', '\uFFFD') ?? null;
}

/** Returns the record of an attempt that failed before a request could be made. */
export function unsentRecord({ kind, message }: OutboundFailure, startedAt: Date): AttemptRecord {
  const timings = { lookup_ms: null, connect_ms: null, tls_ms: null, first_byte_ms: null, total_ms: 0 };
  return {
    outcome: 'failed',
    failure: kind,
    message,
    address: null,
    response: null,
    timings,
    started_at: startedAt,
    duration_ms: 0,
  };
}
