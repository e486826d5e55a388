import { DELIVERY_ATTEMPTS } from '../../../../src/domain/common/retry-schedules.ts';
import { UNMADE_RETRY } from '../../../../src/domain/webhooks/delivery.ts';
import { formatDuration } from '../../../format/time.ts';
import type { Attempt, DeliveryDetail } from './queries.ts';

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

function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return first.endsWith('.') ? first : `${first}.`;
}

/** Returns a summary of a delivery. */
export function describeDelivery(delivery: DeliveryDetail): string {
  return `${describeOutcome(delivery)} ${describeUnmadeRetry(delivery)}`.trim();
}

/** Skipped and cancelled deliveries are described by their whole reason. */
function describeUnmadeRetry({ status, reason }: DeliveryDetail): string {
  const start = reason?.indexOf(UNMADE_RETRY) ?? -1;
  return start < 0 || status === 'skipped' || status === 'cancelled'
    ? ''
    : sentence(reason?.slice(start) ?? '');
}

function describeOutcome(delivery: DeliveryDetail): string {
  const last = delivery.attempts.at(-1);
  const lastAttempt = last ? describeAttempt(last) : '';
  const reason = delivery.reason ? sentence(delivery.reason) : '';
  switch (delivery.status) {
    case 'pending':
      return `${lastAttempt} ${last ? 'The next attempt starts shortly.' : 'The first attempt starts shortly.'}`.trim();
    case 'succeeded':
      return lastAttempt;
    case 'retrying':
      return `${lastAttempt} ${retriesLeft(delivery)}`;
    case 'failed':
      return delivery.test
        ? `${lastAttempt} A test is not retried and does not affect the failure count.`
        : `${lastAttempt} No automatic retries are left.`;
    case 'held':
      return `${lastAttempt} Held because the webhook was disabled. When the webhook is enabled, recover its deliveries.`.trim();
    case 'cancelled':
      return `${lastAttempt} ${delivery.reason ? `Cancelled: ${delivery.reason}.` : 'Cancelled.'}`.trim();
    case 'skipped':
      return `Not sent. ${reason}`;
  }
}

function retriesLeft({ attempts }: DeliveryDetail): string {
  const automatic = attempts.filter(({ trigger }) => trigger === 'automatic').length;
  // A recovered delivery has restarted its schedule.
  const left = Math.max(1, DELIVERY_ATTEMPTS - automatic);
  return left === 1 ? '1 automatic retry is left.' : `${left} automatic retries are left.`;
}
