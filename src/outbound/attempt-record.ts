import type { AttemptTimings } from '../domain/webhooks/delivery.ts';
import type { FailureKind } from '../domain/common/failure-kinds.ts';

/** One POST as the caller of the sender describes it. */
export type AttemptRequest = {
  /** http or https; user name, password and fragment are refused. */
  url: string;
  /** Sent as given, {@link requestHeaders} fill in what is missing. */
  headers: Readonly<Record<string, string>>;
  /** Sent as it is, to the byte. */
  body: Uint8Array;
  /** For the whole attempt, from the name look-up to the last byte of the answer, in milliseconds. */
  timeoutMs: number;
  /** How much of the answer's body is kept, in bytes; where more comes the connection is closed. */
  maxResponseBytes: number;
  /** Gives the attempt up, with failure kind `aborted`. */
  signal?: AbortSignal;
};

/** An answer, or as much of it as came. Bodies are bytes as received, never decompressed. */
export type AttemptResponse = {
  status: number;
  /** Names in lower case; several values of one name are joined with a comma. */
  headers: Record<string, string>;
  body: Buffer;
  /** True when the body went on after what is kept here. */
  truncated: boolean;
};

/** What became of one attempt. */
export type AttemptRecord = {
  /** `succeeded` means a 2xx status, within the limits. */
  outcome: 'succeeded' | 'failed';
  failure: FailureKind | null;
  /** Why it failed, in one sentence without secrets and without parts of the URL. */
  message: string | null;
  /** The address that was connected to, or tried last. */
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

/**
 * The headers of a request as they are sent, apart from `host`, `connection` and `content-length`: names in lower
 * case, our defaults where the caller gives none. For whoever records a request before it is sent.
 */
export function requestHeaders(own: Readonly<Record<string, string>>): Record<string, string> {
  const headers: Record<string, string> = { ...DEFAULT_HEADERS };
  for (const [name, value] of Object.entries(own)) headers[name.toLowerCase()] = value;
  return headers;
}

/**
 * The body of an answer as text that can be stored: PostgreSQL's text can't hold a NUL, and an answer may be anything.
 */
export function storableBody(response: AttemptResponse | null): string | null {
  return response?.body.toString('utf8').replaceAll('\u0000', '\uFFFD') ?? null;
}
