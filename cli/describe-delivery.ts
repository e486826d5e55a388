import type { AttemptTimings, DeliveryStatus } from '../src/domain/webhooks/delivery.ts';
import { type Cell, duration, fields, printable, printableLines, styled, table } from './output.ts';
import type { Delivery, DeliveryAttempt, DeliveryDetail } from './shapes.ts';

const COLOURS = {
  pending: 'cyan',
  succeeded: 'green',
  retrying: 'yellow',
  failed: 'red',
  held: 'yellow',
  cancelled: 'dim',
  skipped: 'dim',
} as const;

const STAGES: ReadonlyArray<readonly [name: string, member: Exclude<keyof AttemptTimings, 'reconnected'>]> = [
  ['look-up', 'lookup_ms'],
  ['connect', 'connect_ms'],
  ['TLS', 'tls_ms'],
  ['first byte', 'first_byte_ms'],
  ['total', 'total_ms'],
];

/** Formats a list of deliveries. */
export function describeDeliveries(deliveries: readonly Delivery[]): string {
  if (deliveries.length === 0) return 'No deliveries';
  const rows = deliveries.map((delivery): Cell[] => [
    delivery.id,
    statusCell(delivery.status),
    delivery.event,
    outcomeOf(delivery.response_status, delivery.failure),
    durationCell(delivery.response_ms),
    delivery.attempts_count,
    delivery.next_attempt_at,
    delivery.scheduled_at,
    delivery.created_at,
    (delivery.test ? 'test' : delivery.reason) ?? '',
  ]);
  const headings = [
    'DELIVERY',
    'STATUS',
    'EVENT',
    'RESPONSE',
    'DURATION',
    'ATTEMPTS',
    'NEXT',
    'SCHEDULED',
    'CREATED',
    '',
  ];
  return table(headings, rows);
}

/** Formats a delivery with its attempts, and one of them in full: the last one, or `shown`. */
export function describeDelivery(delivery: DeliveryDetail, shown?: number): string {
  const head = fields([
    ['Delivery', delivery.id],
    ['Webhook', delivery.webhook_id],
    ['Event', `${delivery.event} ${delivery.event_id}${delivery.test ? ' (test)' : ''}`],
    ['Status', statusCell(delivery.status)],
    ['Reason', delivery.reason],
    ['Created', delivery.created_at],
    ['Next attempt', delivery.next_attempt_at],
    ['Scheduled retry', delivery.scheduled_at],
  ]);
  const rows = delivery.attempts.map((attempt) => [
    attempt.number,
    attempt.trigger,
    attempt.attempted_at,
    outcomeOf(attempt.response?.status ?? null, attempt.failure),
    durationCell(attempt.response_ms),
    attempt.address,
  ]);
  const attempt = delivery.attempts.find(({ number }) => number === shown) ?? delivery.attempts.at(-1);
  return [
    head,
    ...(rows.length === 0
      ? []
      : ['', table(['#', 'TRIGGER', 'ATTEMPTED', 'RESPONSE', 'DURATION', 'ADDRESS'], rows)]),
    ...(attempt === undefined ? [] : ['', describeAttempt(attempt)]),
  ].join('\n');
}

/** Formats an attempt with its request and response. */
export function describeAttempt(attempt: DeliveryAttempt): string {
  const { request, response, timings } = attempt;
  const stages = STAGES.flatMap(([name, member]) => {
    const ms = timings[member];
    return ms === null ? [] : [`${name} ${ms} ms`];
  });
  return [
    styled('bold', `Attempt ${attempt.number}`),
    fields([
      ['Outcome', outcomeOf(response?.status ?? null, attempt.failure)],
      ['Message', attempt.message],
      ['Address', attempt.address],
      ['Times', stages.join(', ')],
      ['Connection', timings.reconnected === true ? 'sent again on a new connection' : null],
    ]),
    '',
    `${request.method} ${printable(request.url)}`,
    ...headerLines(request.headers),
    '',
    bodyText(request.body),
    '',
    ...(response === null
      ? ['No response']
      : [
          `Response ${response.status}`,
          ...headerLines(response.headers),
          ...(response.body === '' ? [] : ['', bodyText(response.body)]),
          ...(response.truncated ? [styled('dim', '… truncated')] : []),
        ]),
  ].join('\n');
}

/** Returns the outcome: the status, the failure, or both. */
function outcomeOf(status: number | null, failure: string | null): string {
  if (failure === null || failure === 'status') return status === null ? '-' : String(status);
  return status === null ? failure : `${status} ${failure}`;
}

function statusCell(status: DeliveryStatus): Cell {
  return { drawn: styled(COLOURS[status], status) };
}

function durationCell(ms: number | null): string | null {
  return ms === null ? null : duration(ms);
}

function headerLines(headers: Record<string, string>): string[] {
  return Object.entries(headers).map(([name, value]) => `  ${printable(name)}: ${printable(value)}`);
}

function bodyText(body: string | null): string {
  if (body === null) return styled('dim', '(deleted)');
  return printableLines(body)
    .map((line) => `  ${line}`)
    .join('\n');
}
