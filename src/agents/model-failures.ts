import { APICallError, LoadAPIKeyError } from '@ai-sdk/provider';
import { KEY_VARIABLES, ModelUnavailable, splitModelName, type Models } from './models.ts';
import { truncate } from '../domain/common/text.ts';

/** Why a model call failed. `retryInMs`: the wait that the provider asks for; null if it asks for none. */
export type ModelFailure =
  /** Retrying is of no use. */
  { kind: 'refused'; message: string } | { kind: 'failed'; message: string; retryInMs: number | null };

/** Longest wait that a provider can ask for, in milliseconds. */
export const MAX_RETRY_AFTER_MS = 5 * 60_000;
const PROVIDER_TEXT_LENGTH = 300;
/** 4xx statuses after which a retry may succeed. */
const RETRYABLE_STATUSES = new Set([408, 409, 425, 429]);

/**
 * Converts the failure of a call to `model` to a sentence, and decides whether to retry. The sentence names the model,
 * and the variable of a refused key. The provider's message is cut, after `withoutKeys` has removed the keys.
 */
export function failureOf(
  error: unknown,
  model: string,
  now: number,
  withoutKeys: Models['withoutKeys'],
): ModelFailure {
  if (error instanceof ModelUnavailable || LoadAPIKeyError.isInstance(error)) {
    return { kind: 'refused', message: (error as Error).message };
  }
  if (!APICallError.isInstance(error)) {
    const reason = error instanceof Error ? error.message : String(error);
    return {
      kind: 'failed',
      message: `calling ${model} failed: ${shortened(withoutKeys(reason))}`,
      retryInMs: null,
    };
  }
  const { statusCode: status, responseHeaders: headers = {} } = error;
  const reason = shortened(withoutKeys(reasonOf(error)));
  if (status === undefined) {
    return { kind: 'failed', message: `${model} is unreachable: ${reason}`, retryInMs: null };
  }
  if (status < 300) {
    return {
      kind: 'failed',
      message: `${model} sent an unreadable response: ${reason}`,
      retryInMs: null,
    };
  }
  if (status < 500 && !RETRYABLE_STATUSES.has(status))
    return { kind: 'refused', message: refusal(model, status, reason) };
  if (status === 429 && /insufficient_quota/.test(error.responseBody ?? '')) {
    return {
      kind: 'refused',
      message: `${model} returned 429: the quota of the account is used up (${reason})`,
    };
  }
  return {
    kind: 'failed',
    message: `${model} returned ${status}: ${reason}`,
    retryInMs: retryAfterMs(headers, now),
  };
}

/** Returns the message of a failure. If the body could not be read, the library gives the reason only in the cause. */
function reasonOf({ message, cause }: APICallError): string {
  if (!/^Failed to process (successful|error) response$/.test(message)) return message;
  for (let inner = cause; inner instanceof Error; inner = inner.cause) message = inner.message;
  return message;
}

function refusal(model: string, status: number, reason: string): string {
  const variable = KEY_VARIABLES[splitModelName(model).provider];
  if (status === 401 || status === 403) {
    return `${model} returned ${status}: the key in ${variable} was refused (${reason})`;
  }
  if (status === 404)
    return `${model} returned 404: the key in ${variable} has no access to this model (${reason})`;
  return `${model} returned ${status}: ${reason}`;
}

/** Parses `retry-after-ms`, or `retry-after` in seconds or as a date. */
function retryAfterMs(headers: Record<string, string>, now: number): number | null {
  const milliseconds = Number(headers['retry-after-ms'] ?? Number.NaN);
  const text = headers['retry-after'];
  const wait = Number.isFinite(milliseconds)
    ? milliseconds
    : text === undefined
      ? Number.NaN
      : /^\d+(\.\d+)?$/.test(text)
        ? Number(text) * 1_000
        : Date.parse(text) - now;
  return Number.isFinite(wait) ? Math.min(Math.max(wait, 0), MAX_RETRY_AFTER_MS) : null;
}

/** Returns a foreign message on one line, without strings that look like keys. */
function shortened(text: string): string {
  const line = text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\b(sk|key|pk)-[\w*.-]{6,}/g, '[key]')
    .trim();
  return line.length > PROVIDER_TEXT_LENGTH ? `${truncate(line, PROVIDER_TEXT_LENGTH)}…` : line;
}
