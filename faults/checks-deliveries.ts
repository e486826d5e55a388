import { CONCURRENT_ATTEMPTS } from '../src/domain/common/limits.ts';
import {
  figure,
  none,
  some,
  type Arrival,
  type Books,
  type DeliveryRow,
  type Line,
  type Made,
  type WebhookBook,
} from './books.ts';
import { groupBy, isGood, wireLines } from './checks-tasks.ts';
import { wants } from './webhooks.ts';

/** Results that a delivery worker may not have written yet when it dies (docs/how-it-works.md). */
const UNWRITTEN = 120;
/** What was sent so long before an interruption is recorded, and after it as well. */
const NEAR_MS = 5_000;
/** A request may be on its way for a moment behind the time that the log gives it. */
const ON_ITS_WAY_MS = 2_000;

/** What must hold of events and their deliveries. */
export function deliveryLines(books: Books): Line[] {
  return [...pairs(books), ...attempts(books), ...disabling(books), ...troubles(books)];
}

type Pair = { webhook: WebhookBook; eventId: string };

function pairs({ events, storedEvents, webhooks, deliveries }: Books): Line[] {
  const stored = new Set(storedEvents);
  const taken = events.filter(({ outcome }) => outcome === 'taken').map(({ event }) => event);
  const known = new Map(events.map(({ event }) => [event.id, event]));
  const rows = groupBy(deliveries, ({ webhook_id: webhook, event_id: event }) => `${webhook} ${event}`);
  const wanted: Pair[] = webhooks.flatMap((webhook) =>
    taken.filter((event) => wants(webhook.name, event)).map(({ id }) => ({ webhook, eventId: id })),
  );
  const arrived = new Set(
    webhooks.flatMap(({ id, arrivals }) =>
      arrivals.filter(({ answered }) => isGood(answered)).map(({ body }) => `${id} ${JSON.parse(body).id}`),
    ),
  );
  const unwanted = webhooks.flatMap((webhook) =>
    webhook.arrivals
      .map(({ body }) => known.get(JSON.parse(body).id))
      .filter((event) => event !== undefined && !wants(webhook.name, event))
      .map((event) => `${webhook.name} ${event?.id}`),
  );
  const named = ({ webhook, eventId }: Pair) => `${webhook.name} ${eventId}`;
  return [
    figure('events: answered 202', taken.length, `of ${events.length}`),
    none(
      'events: accepted events lost',
      taken.map(({ id }) => id).filter((id) => !stored.has(id)),
    ),
    figure('events: pairs of event and webhook', wanted.length),
    none(
      'events: pairs never delivered',
      wanted.filter(({ webhook, eventId }) => !arrived.has(`${webhook.id} ${eventId}`)).map(named),
    ),
    none(
      'events: pairs with two deliveries',
      [...rows].filter(([, found]) => found.length > 1).map(([key]) => key),
    ),
    none('events: delivered though a filter said no', unwanted),
  ];
}

function attempts({ webhooks, deliveries, made }: Books): Line[] {
  const arrivals = webhooks.flatMap((webhook) => webhook.arrivals);
  const byDelivery = groupBy(arrivals, ({ delivery }) => delivery);
  const rows = new Map(deliveries.map((row) => [row.id, row]));
  const unlogged = [...byDelivery].map(([id, requests]) =>
    Math.max(0, requests.length - (rows.get(id)?.attempts.length ?? 0)),
  );
  const duplicates = unlogged.reduce((sum, one) => sum + one, 0);
  const twice = [...byDelivery.values()].filter((requests) => requests.length > 1).length;
  const interruptions = made.filter(canRepeat);
  const crashes = interruptions.length;
  const secrets = new Map(
    webhooks.flatMap(({ arrivals: own, secret }) => own.map((one) => [one, secret] as const)),
  );
  const share = arrivals.length === 0 ? 0 : (100 * duplicates) / arrivals.length;
  return [
    figure('deliveries: requests that arrived', arrivals.length),
    figure('deliveries: that arrived more than once, retries included', twice),
    {
      name: 'deliveries: duplicates beside the log',
      count: duplicates,
      wanted: 'most',
      bound: crashes * (CONCURRENT_ATTEMPTS * webhooks.length + UNWRITTEN),
      examples: [],
      note: `${share.toFixed(2)} % of all that arrived; ${crashes} interruptions`,
    },
    none(
      'deliveries: duplicates far from any interruption',
      [...byDelivery]
        .filter(([id, requests]) => requests.length > (rows.get(id)?.attempts.length ?? 0))
        .filter(([, requests]) => !requests.some(({ at }) => isNear(interruptions, at)))
        .map(([id]) => id),
    ),
    some('deliveries: retried by the schedule', deliveries.filter(isRetriedBySchedule).length),
    some(
      'deliveries: retried by hand',
      deliveries.filter((row) => row.attempts.some(({ trigger }) => trigger === 'manual')).length,
    ),
    none(
      'deliveries: log rows that disagree with the receivers',
      deliveries.filter((row) => !agrees(row, byDelivery.get(row.id) ?? [])).map(inShort),
    ),
    none(
      'deliveries: that arrived and are not in the log',
      [...byDelivery.keys()].filter((id) => !rows.has(id)),
    ),
    none(
      'deliveries: not settled in the end',
      deliveries.filter(({ status }) => status !== 'succeeded' && status !== 'skipped').map(inShort),
    ),
    ...wireLines('deliveries: ', arrivals, (arrival) => secrets.get(arrival) ?? null),
  ];
}

function isNear(interruptions: readonly Made[], at: number): boolean {
  return interruptions.some(({ from, to }) => at >= from - NEAR_MS && at <= to + NEAR_MS);
}

/** Two attempts by the schedule lie behind each other: the retry after one minute, or one of a recovery. */
function isRetriedBySchedule({ attempts: made }: DeliveryRow): boolean {
  return made.filter(({ trigger }) => trigger === 'automatic').length > 1;
}

/** Whether what is done here may leave a delivery worker without a chance to write down what it has sent. */
function canRepeat({ planned }: Made): boolean {
  if (planned.kind === 'cut') return planned.link.startsWith('delivery-worker');
  if (planned.kind === 'disk') return true;
  if (!('part' in planned)) return false;
  return (
    planned.part.startsWith('delivery-worker') || planned.part === 'temporal' || planned.part === 'postgres'
  );
}

function agrees(
  { status, attempts: made, attempts_count: count, body }: DeliveryRow,
  arrivals: readonly Arrival[],
): boolean {
  const given = (wanted: number) => arrivals.filter(({ answered }) => answered === wanted).length;
  const statuses = new Set(made.flatMap(({ response_status: one }) => one ?? []));
  const areGiven = [...statuses].every(
    (one) => made.filter(({ response_status: other }) => other === one).length <= given(one),
  );
  const areNumbered = count === made.length && made.every(({ number }, index) => number === index + 1);
  const isGoodInLog = made.some(({ response_status: one, failure }) => isGood(one) && failure === null);
  const areSameBytes = arrivals.every((arrival) => arrival.body === body);
  return areGiven && areNumbered && areSameBytes && (status === 'succeeded') === isGoodInLog;
}

function disabling({ webhooks, deliveries, switchings, notices }: Books): Line[] {
  const late: string[] = [];
  const lateOnWire: string[] = [];
  for (const { id, name, arrivals } of webhooks) {
    const periods = periodsOf(switchings.filter(({ webhook_id: webhook }) => webhook === id));
    const own = deliveries.filter(({ webhook_id: webhook }) => webhook === id);
    const isOff = (at: number, slackMs: number) =>
      periods.some(({ from, to }) => at > from + slackMs && at < to);
    for (const row of own) {
      for (const { at, number, trigger } of row.attempts) {
        if (trigger !== 'test' && isOff(at, 1)) late.push(`${name} ${row.id} attempt ${number}`);
      }
    }
    const rows = new Map(own.map((row) => [row.id, row]));
    for (const arrival of arrivals) {
      if (isOff(arrival.at, ON_ITS_WAY_MS) && !isUnderWay(rows.get(arrival.delivery), arrival.at))
        lateOnWire.push(`${name} ${arrival.delivery}`);
    }
  }
  return [
    some(
      'disabling: webhooks disabled after ten failures',
      switchings.filter(({ to }) => to === 'disabled').length,
    ),
    none('disabling: attempts after it, by the log', late),
    none('disabling: requests after it, at the receivers', lateOnWire),
    none(
      'disabling: people notified more than once',
      notices.filter(({ count }) => count > 1).map(({ subject }) => subject),
    ),
  ];
}

/** Times in which nothing may be sent, from the commit of each disabling to that of the next enabling. */
function periodsOf(own: Books['switchings']): { from: number; to: number }[] {
  return own
    .filter(({ to }) => to === 'disabled')
    .map(({ at }) => ({
      from: at,
      to: own.find((other) => other.to === 'enabled' && other.at > at)?.at ?? Number.POSITIVE_INFINITY,
    }));
}

/** Whether the log has an attempt that was under way at that time. */
function isUnderWay(row: DeliveryRow | undefined, at: number): boolean {
  return (row?.attempts ?? []).some(
    (attempt) => attempt.at <= at + 1_000 && at <= attempt.at + (attempt.response_ms ?? 0) + ON_ITS_WAY_MS,
  );
}

/** The receiver with the wrong clock, and the one whose certificate runs out. */
function troubles({ webhooks, deliveries, made }: Books): Line[] {
  const arrivalsOf = (name: string) => webhooks.find((webhook) => webhook.name === name)?.arrivals ?? [];
  const during = (kind: string, at: number, slackMs = 0) =>
    made.some(({ planned, from, to }) => planned.kind === kind && at >= from - slackMs && at <= to + slackMs);
  const refused = arrivalsOf('clock').filter(({ answered }) => answered === 401);
  const certificate = webhooks.find(({ name }) => name === 'certificate');
  const failedHandshakes = deliveries
    .filter(({ webhook_id: webhook }) => webhook === certificate?.id)
    .flatMap(({ attempts: all }) => all)
    .filter(({ failure, at }) => failure === 'tls_failed' && during('certificate', at));
  return [
    some('clock: refused while it was wrong', refused.filter(({ at }) => during('clock', at)).length),
    none(
      'clock: refused while it was right',
      refused.filter(({ at }) => !during('clock', at, 50)).map(({ delivery }) => delivery),
    ),
    none(
      'clock: taken while it was wrong',
      arrivalsOf('clock')
        .filter(({ at, answered }) => isGood(answered) && during('clock', at, -50))
        .map(({ delivery }) => delivery),
    ),
    some('certificate: refused after it had run out', failedHandshakes.length),
    none(
      'certificate: requests sent to one that had run out',
      arrivalsOf('certificate')
        .filter(({ connectedAt }) => during('certificate', connectedAt, -2_500))
        .map(({ delivery }) => delivery),
    ),
  ];
}

function inShort({ id, status, attempts: made }: DeliveryRow): string {
  const said = made.map(
    ({ trigger, response_status: answered, failure }) => `${trigger[0]}${answered ?? failure}`,
  );
  return `${id} ${status} [${said.join(' ')}]`;
}
