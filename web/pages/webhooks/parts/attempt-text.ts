import { deliveryAttemptsLeft } from '../../../../src/domain/common/retry-schedules.ts';
import {
  INACTIVE_REASON,
  UNMADE_RETRY,
  type AttemptTrigger,
  type DeliveryStatus,
} from '../../../../src/domain/webhooks/delivery.ts';
import type { WebhookStatus } from '../../../../src/domain/webhooks/webhook.ts';
import { formatDuration, formatLocal } from '../../../format/time.ts';

/** The fields that determine the summary of an attempt. */
type Attempt = {
  trigger: AttemptTrigger;
  attempted_at: string;
  response: { status: number } | null;
  failure: string | null;
  message: string | null;
  response_ms: number | null;
};

/** The fields that determine the summary of a delivery. */
type Delivery = {
  status: DeliveryStatus;
  test: boolean;
  reason: string | null;
  next_attempt_at: string | null;
  attempts: readonly Attempt[];
};

const PHRASES: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  204: 'No Content',
  301: 'Moved Permanently',
  302: 'Found',
  307: 'Temporary Redirect',
  308: 'Permanent Redirect',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  418: 'I’m a teapot',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};

/** Returns `503 Service Unavailable`. */
export function statusLine(status: number): string {
  const phrase = PHRASES[status];
  return phrase ? `${status} ${phrase}` : String(status);
}

/** Returns the outcome of an attempt in a word: `503`, `timeout`. */
export function outcomeLabel(status: number | null, failure: string | null): string {
  if (failure === null || failure === 'status') return status === null ? '–' : String(status);
  return failure.replaceAll('_', ' ');
}

/** The fields that determine the outcome of a delivery in a log. */
type Outcome = {
  attempts_count: number;
  response_status: number | null;
  failure: string | null;
  response_ms: number | null;
  reason: string | null;
};

/** Returns the outcome of the last attempt and the reason: `503 · 1.2 s`, `200 · 41 ms · the retry was cancelled`. */
export function outcomeText({
  attempts_count,
  response_status,
  failure,
  response_ms,
  reason,
}: Outcome): string {
  const last = attempts_count === 0 ? [] : [outcomeLabel(response_status, failure)];
  const took = attempts_count === 0 || response_ms === null ? [] : [formatDuration(response_ms)];
  return [...last, ...took, ...(reason === null ? [] : [reason])].join(' · ');
}

/** The last attempt of the newest delivery of a webhook, as in its statistics. */
type Last = { response_status: number | null; failure: string | null };

/** Returns how the newest delivery of a webhook failed, as `timeout` or `503`; null if it succeeded or is unknown. */
export function lastFailure(stats: { last: Last | null } | undefined): string | null {
  const { response_status: status = null, failure = null } = stats?.last ?? {};
  return failure === null ? null : outcomeLabel(status, failure);
}

/** Returns what a failed status means for the operator of the endpoint. */
function adviceFor(status: number): string {
  if (status >= 300 && status < 400) return 'Redirects are not followed. Set the URL to the final address.';
  if (status === 401 || status === 403) return 'Check the secret and the access rules of the endpoint.';
  if (status === 404 || status === 410) return 'No endpoint exists at this path. Check the URL.';
  if (status === 405) return 'This path does not accept POST. Check the URL.';
  if (status === 413) return 'The body is larger than the endpoint accepts.';
  if (status === 429) return 'The endpoint limits the request rate.';
  if (status >= 500) return 'Check the endpoint’s logs.';
  return 'The endpoint rejected the request. Its response may say why.';
}

/** Returns a summary of an attempt: the response, its time, and the advice. */
export function describeAttempt({ response, failure, message, response_ms: ms }: Attempt): string {
  const after = ms === null ? '' : ` after ${formatDuration(ms)}`;
  if (failure === null && response) return `Delivered: ${statusLine(response.status)}${after}.`;
  if (response && (failure === 'status' || failure === 'redirect')) {
    return `The endpoint returned ${statusLine(response.status)}${after}. ${adviceFor(response.status)}`;
  }
  const what = message ?? `The attempt failed: ${(failure ?? 'unknown').replaceAll('_', ' ')}`;
  return sentence(ms === null ? what : `${what.replace(/\.$/, '')} (after ${formatDuration(ms)})`);
}

/** Length of the part of a response that a summary shows, in characters. */
const EXCERPT_LENGTH = 200;
/** Length of the part of a response that can contain this text, in characters. */
const EXCERPT_SOURCE_LENGTH = 8_192;

/**
 * The parts of a page that are not its text, and its tags. An unfinished part takes the rest of the page, and a tag ends
 * before the next one. The time is therefore linear in the length of the response, whatever the receiver sends.
 */
const HIDDEN_PARTS = /<(script|style|title)\b.*?(?:<\/\1\b[^<>]*>?|$)/gis;
const TAGS = /<[^<>]*(?:>|$)/g;

/** Returns the beginning of the response of a failed attempt, without the tags of an HTML page; null if there is none. */
export function failureExcerpt(
  attempt: { failure: string | null; response: { body: string | null } | null } | undefined,
): string | null {
  const body = attempt?.response?.body;
  if (!body || attempt.failure === null) return null;
  const isPage = body.trimStart().startsWith('<');
  const source = (isPage ? body.replaceAll(HIDDEN_PARTS, ' ') : body).slice(0, EXCERPT_SOURCE_LENGTH);
  const text = (isPage ? source.replaceAll(TAGS, ' ') : source).replaceAll(/\s+/g, ' ').trim();
  if (text === '') return null;
  return text.length > EXCERPT_LENGTH ? `${text.slice(0, EXCERPT_LENGTH).trimEnd()}…` : text;
}

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return first.endsWith('.') ? first : `${first}.`;
}

/** The status of the webhook of a delivery; null if it was deleted, undefined while it is unknown. */
export type StatusOfWebhook = WebhookStatus | null | undefined;

/** Returns a summary of a delivery. */
export function describeDelivery(delivery: Delivery, webhook: StatusOfWebhook): string {
  const [reason, unmadeRetry] = splitReason(delivery.reason);
  const outcome = describeOutcome({ ...delivery, reason }, webhook);
  return unmadeRetry === null ? outcome : `${outcome} ${sentence(unmadeRetry)}`.trim();
}

/** The time of a retry that was not made, as the reason contains it: `2026-01-31T12:00:00.000Z`. */
const TIME = /\d{4}-\d\d-\d\dT[\d:.]+Z/;

/** Returns why a delivery has its status, and why a manual retry was not made, with its time in the local time zone. */
function splitReason(reason: string | null): [string | null, string | null] {
  const start = reason?.indexOf(UNMADE_RETRY) ?? -1;
  if (reason === null || start < 0) return [reason, null];
  return [reason.slice(0, start).replace(/; $/, '') || null, reason.slice(start).replace(TIME, formatLocal)];
}

function describeOutcome(delivery: Delivery, webhook: StatusOfWebhook): string {
  const last = delivery.attempts.at(-1);
  const lastAttempt = last ? describeAttempt(last) : '';
  switch (delivery.status) {
    case 'pending':
      return `${lastAttempt} ${last ? 'The next attempt starts shortly.' : 'The first attempt starts shortly.'}`.trim();
    case 'succeeded':
      return last?.failure ? `${lastAttempt} An earlier attempt delivered the event.` : lastAttempt;
    case 'retrying':
      return `${lastAttempt} ${retriesLeft(delivery)}`.trim();
    case 'failed':
      return delivery.test
        ? `${lastAttempt} A test is not retried and does not affect the failure count.`
        : `${lastAttempt} No automatic retries are left.`;
    case 'held':
      return `${lastAttempt} ${heldText(webhook)}`.trim();
    case 'cancelled':
      return `${lastAttempt} ${delivery.reason ? `Cancelled: ${delivery.reason}.` : 'Cancelled.'}`.trim();
    case 'skipped':
      return `${lastAttempt} ${skippedText(delivery)}`.trim();
  }
}

/** Without the number if the next attempt is not at a time of the schedule of the last one. */
function retriesLeft({ attempts, next_attempt_at: next }: Delivery): string {
  const last = attempts.findLast(({ trigger }) => trigger === 'automatic');
  const left = last && next ? deliveryAttemptsLeft(Date.parse(next) - Date.parse(last.attempted_at)) : null;
  if (left === null) return 'Baton retries it automatically.';
  return left === 1 ? '1 automatic retry is left.' : `${left} automatic retries are left.`;
}

function heldText(webhook: StatusOfWebhook): string {
  const held = 'Held because the webhook was disabled.';
  switch (webhook) {
    case 'disabled':
      return `${held} Enable the webhook, then recover its deliveries.`;
    case 'inactive':
      return `${held} Activate the webhook, then recover its deliveries.`;
    case 'active':
      return `${held} The webhook is enabled now: recover its deliveries.`;
    case null:
    case undefined:
      return held;
  }
}

/** What comes next for a delivery. */
type Coming = Pick<Delivery, 'status' | 'next_attempt_at'> & { scheduled_at: string | null };

/** Returns the time of the next automatic attempt and of the scheduled retry; null if there is none. */
export function comingAttempts({ status, next_attempt_at: next, scheduled_at: scheduled }: Coming) {
  const isAutomatic = (status === 'pending' || status === 'retrying') && next !== scheduled;
  return { automatic: isAutomatic ? next : null, scheduled };
}

/** Returns the message after a manual retry was accepted: none any more as soon as its attempt has ended. */
export function retryMessage(
  { at, attempts }: { at: Date | undefined; attempts: number },
  delivery: { attempts_count: number; scheduled_at: string | null },
): string {
  if (!at) return delivery.attempts_count > attempts ? '' : 'Attempt started.';
  return delivery.scheduled_at ? `Attempt scheduled for ${formatLocal(delivery.scheduled_at)}.` : '';
}

/** A webhook that became inactive also skips deliveries that wait for a retry. Manual attempts are also made later. */
function skippedText({ attempts, reason }: Delivery): string {
  const what =
    attempts.length === 0 ? 'Not sent' : hasBegun(attempts) ? 'Not retried' : 'Not sent automatically';
  if (reason === INACTIVE_REASON) return `${what}: the webhook was inactive.`;
  return reason ? sentence(`${what}: ${reason}`) : `${what}.`;
}

function hasBegun(attempts: readonly Attempt[]): boolean {
  return attempts.some(({ trigger }) => trigger === 'automatic');
}

/**
 * Returns what the user can change so that events like that of a skipped delivery are sent: the filters, or the status of
 * the webhook; null if they would be sent now.
 */
export function remedyFor(
  { status, reason }: Pick<Delivery, 'status' | 'reason'>,
  webhook: { status: WebhookStatus },
): 'filters' | 'activation' | null {
  if (status !== 'skipped') return null;
  if (splitReason(reason)[0] !== INACTIVE_REASON) return 'filters';
  return webhook.status === 'inactive' ? 'activation' : null;
}
