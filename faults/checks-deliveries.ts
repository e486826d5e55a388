import { CONCURRENT_ATTEMPTS } from '../src/domain/common/limits.ts';
import { reportCount, expectNone, expectSome, type InvariantResult } from './invariants.ts';
import type { RequestRecord, ScenarioRecords, DeliveryRow, InjectedFault, WebhookRecord } from './records.ts';
import { countRequests, groupBy, isSuccess, checkRequests } from './checks-tasks.ts';
import { isSubscribed } from './webhooks.ts';

/** Results that a delivery worker may not have written yet when it dies (docs/how-it-works.md). */
const MAX_UNWRITTEN_RESULTS = 120;
/** Requests sent more than this before or after an interruption must be recorded. */
const NEAR_MS = 5_000;
/** A request may arrive this much later than the time in the log. */
const TRANSIT_MS = 2_000;

/** Checks the invariants of events and their deliveries. */
export function checkDeliveries(records: ScenarioRecords): InvariantResult[] {
  return [
    ...checkPairs(records),
    ...checkAttempts(records),
    ...checkDisabling(records),
    ...checkReceiverFaults(records),
  ];
}

type Pair = { webhook: WebhookRecord; eventId: string };

function checkPairs({ events, storedEvents, webhooks, deliveries }: ScenarioRecords): InvariantResult[] {
  const stored = new Set(storedEvents);
  const accepted = events.filter(({ outcome }) => outcome === 'accepted').map(({ event }) => event);
  const known = new Map(events.map(({ event }) => [event.id, event]));
  const rows = groupBy(deliveries, ({ webhook_id: webhook, event_id: event }) => `${webhook} ${event}`);
  const expected: Pair[] = webhooks.flatMap((webhook) =>
    accepted.filter((event) => isSubscribed(webhook.name, event)).map(({ id }) => ({ webhook, eventId: id })),
  );
  const arrived = new Set(
    webhooks.flatMap(({ id, requests }) =>
      requests
        .filter(({ responseStatus }) => isSuccess(responseStatus))
        .map(({ body }) => `${id} ${JSON.parse(body).id}`),
    ),
  );
  const unexpected = webhooks.flatMap((webhook) =>
    webhook.requests
      .map(({ body }) => known.get(JSON.parse(body).id))
      .filter((event) => event !== undefined && !isSubscribed(webhook.name, event))
      .map((event) => `${webhook.name} ${event?.id}`),
  );
  const nameOf = ({ webhook, eventId }: Pair) => `${webhook.name} ${eventId}`;
  return [
    reportCount('events: accepted (202)', accepted.length, `of ${events.length}`),
    expectNone(
      'events: accepted events lost',
      accepted.map(({ id }) => id).filter((id) => !stored.has(id)),
    ),
    reportCount('events: pairs of event and webhook', expected.length),
    expectNone(
      'events: pairs never delivered',
      expected.filter(({ webhook, eventId }) => !arrived.has(`${webhook.id} ${eventId}`)).map(nameOf),
    ),
    expectNone(
      'events: pairs with two deliveries',
      [...rows].filter(([, found]) => found.length > 1).map(([key]) => key),
    ),
    expectNone('events: delivered although a filter did not match', unexpected),
  ];
}

function checkAttempts({ webhooks, deliveries, faults }: ScenarioRecords): InvariantResult[] {
  const arrivals = webhooks.flatMap((webhook) => webhook.requests);
  const byDelivery = groupBy(arrivals, ({ delivery }) => delivery);
  const rows = new Map(deliveries.map((row) => [row.id, row]));
  const unlogged = [...byDelivery].map(([id, requests]) =>
    Math.max(0, requests.length - countRequests(rows.get(id)?.attempts ?? [])),
  );
  const duplicates = unlogged.reduce((sum, one) => sum + one, 0);
  const repeated = [...byDelivery.values()].filter((requests) => requests.length > 1).length;
  const interruptions = faults.filter(canCauseDuplicates);
  const crashes = interruptions.length;
  const secrets = new Map(
    webhooks.flatMap(({ requests: own, secret }) => own.map((one) => [one, secret] as const)),
  );
  const share = arrivals.length === 0 ? 0 : (100 * duplicates) / arrivals.length;
  return [
    reportCount('deliveries: requests received', arrivals.length),
    reportCount('deliveries: received more than once, retries included', repeated),
    {
      name: 'deliveries: duplicates not in the log',
      count: duplicates,
      expected: 'at most',
      limit: crashes * (CONCURRENT_ATTEMPTS * webhooks.length + MAX_UNWRITTEN_RESULTS),
      examples: [],
      note: `${share.toFixed(2)} % of all requests; ${crashes} interruptions`,
    },
    expectNone(
      'deliveries: duplicates far from any interruption',
      [...byDelivery]
        .filter(([id, requests]) => requests.length > countRequests(rows.get(id)?.attempts ?? []))
        .filter(([, requests]) => !requests.some(({ at }) => isNear(interruptions, at)))
        .map(([id]) => id),
    ),
    expectSome('deliveries: retried by the schedule', deliveries.filter(isRetriedBySchedule).length),
    expectSome(
      'deliveries: retried manually',
      deliveries.filter((row) => row.attempts.some(({ trigger }) => trigger === 'manual')).length,
    ),
    expectNone(
      'deliveries: log rows that disagree with the receivers',
      deliveries.filter((row) => !agreesWithReceiver(row, byDelivery.get(row.id) ?? [])).map(summarize),
    ),
    expectNone(
      'deliveries: received but not in the log',
      [...byDelivery.keys()].filter((id) => !rows.has(id)),
    ),
    expectNone(
      'deliveries: not settled at the end',
      deliveries.filter(({ status }) => status !== 'succeeded' && status !== 'skipped').map(summarize),
    ),
    ...checkRequests('deliveries: ', arrivals, (arrival) => secrets.get(arrival) ?? null),
  ];
}

function isNear(interruptions: readonly InjectedFault[], at: number): boolean {
  return interruptions.some(({ from, to }) => at >= from - NEAR_MS && at <= to + NEAR_MS);
}

/** Returns whether the schedule made more than one attempt: the retry after one minute, or an attempt of a recovery. */
function isRetriedBySchedule({ attempts: made }: DeliveryRow): boolean {
  return made.filter(({ trigger }) => trigger === 'automatic').length > 1;
}

/** The processes that send webhooks: delivery workers, and APIs while events arrive slowly. */
const SENDS_WEBHOOKS = /^(?:delivery-worker|api)-/;

/** Returns whether the fault can keep a process from recording requests it has sent. */
function canCauseDuplicates({ fault }: InjectedFault): boolean {
  if (fault.kind === 'disconnect') return SENDS_WEBHOOKS.test(fault.link);
  if (fault.kind === 'disk') return true;
  if (!('part' in fault)) return false;
  return SENDS_WEBHOOKS.test(fault.part) || fault.part === 'temporal' || fault.part === 'postgres';
}

function agreesWithReceiver(
  { status, attempts: made, attempts_count: count, body }: DeliveryRow,
  arrivals: readonly RequestRecord[],
): boolean {
  const given = (wanted: number) => arrivals.filter(({ responseStatus }) => responseStatus === wanted).length;
  const statuses = new Set(made.flatMap(({ response_status: one }) => one ?? []));
  const areGiven = [...statuses].every(
    (one) => made.filter(({ response_status: other }) => other === one).length <= given(one),
  );
  const areNumbered = count === made.length && made.every(({ number }, index) => number === index + 1);
  const isGoodInLog = made.some(({ response_status: one, failure }) => isSuccess(one) && failure === null);
  const areSameBytes = arrivals.every((arrival) => arrival.body === body);
  return areGiven && areNumbered && areSameBytes && (status === 'succeeded') === isGoodInLog;
}

function checkDisabling({
  webhooks,
  deliveries,
  statusChanges,
  notifications,
}: ScenarioRecords): InvariantResult[] {
  const lateInLog: string[] = [];
  const lateAtReceiver: string[] = [];
  for (const { id, name, requests } of webhooks) {
    const periods = periodsOf(statusChanges.filter(({ webhook_id: webhook }) => webhook === id));
    const own = deliveries.filter(({ webhook_id: webhook }) => webhook === id);
    const isOff = (at: number, slackMs: number) =>
      periods.some(({ from, to }) => at > from + slackMs && at < to);
    for (const row of own) {
      for (const { at, number, trigger } of row.attempts) {
        if (trigger !== 'test' && isOff(at, 1)) lateInLog.push(`${name} ${row.id} attempt ${number}`);
      }
    }
    const rows = new Map(own.map((row) => [row.id, row]));
    for (const arrival of requests) {
      if (isOff(arrival.at, TRANSIT_MS) && !isUnderWay(rows.get(arrival.delivery), arrival.at))
        lateAtReceiver.push(`${name} ${arrival.delivery}`);
    }
  }
  return [
    expectSome(
      'disabling: webhooks disabled after ten failures',
      statusChanges.filter(({ to }) => to === 'disabled').length,
    ),
    expectNone('disabling: attempts after it, by the log', lateInLog),
    expectNone('disabling: requests after it, at the receivers', lateAtReceiver),
    expectNone(
      'disabling: people notified more than once',
      notifications.filter(({ count }) => count > 1).map(({ subject }) => subject),
    ),
  ];
}

/** Returns the times in which nothing may be sent: from the commit of each disabling to that of the next enabling. */
function periodsOf(own: ScenarioRecords['statusChanges']): { from: number; to: number }[] {
  return own
    .filter(({ to }) => to === 'disabled')
    .map(({ at }) => ({
      from: at,
      to: own.find((other) => other.to === 'enabled' && other.at > at)?.at ?? Number.POSITIVE_INFINITY,
    }));
}

/** Returns whether the log has an attempt that was in progress at that time. */
function isUnderWay(row: DeliveryRow | undefined, at: number): boolean {
  return (row?.attempts ?? []).some(
    (attempt) => attempt.at <= at + 1_000 && at <= attempt.at + (attempt.response_ms ?? 0) + TRANSIT_MS,
  );
}

/** Checks the receiver with the wrong clock and the one whose certificate expires. */
function checkReceiverFaults({ webhooks, deliveries, faults }: ScenarioRecords): InvariantResult[] {
  const arrivalsOf = (name: string) => webhooks.find((webhook) => webhook.name === name)?.requests ?? [];
  const during = (kind: string, at: number, slackMs = 0) =>
    faults.some(({ fault, from, to }) => fault.kind === kind && at >= from - slackMs && at <= to + slackMs);
  const refused = arrivalsOf('clock').filter(({ responseStatus }) => responseStatus === 401);
  const certificate = webhooks.find(({ name }) => name === 'certificate');
  const failedHandshakes = deliveries
    .filter(({ webhook_id: webhook }) => webhook === certificate?.id)
    .flatMap(({ attempts: all }) => all)
    .filter(({ failure, at }) => failure === 'tls_failed' && during('certificate', at));
  return [
    expectSome('clock: rejected while it was wrong', refused.filter(({ at }) => during('clock', at)).length),
    expectNone(
      'clock: rejected while it was correct',
      refused.filter(({ at }) => !during('clock', at, 50)).map(({ delivery }) => delivery),
    ),
    expectNone(
      'clock: accepted while it was wrong',
      arrivalsOf('clock')
        .filter(({ at, responseStatus }) => isSuccess(responseStatus) && during('clock', at, -50))
        .map(({ delivery }) => delivery),
    ),
    expectSome('certificate: rejected after it expired', failedHandshakes.length),
    expectNone(
      'certificate: requests sent to an expired one',
      arrivalsOf('certificate')
        .filter(({ connectedAt }) => during('certificate', connectedAt, -2_500))
        .map(({ delivery }) => delivery),
    ),
  ];
}

function summarize({ id, status, attempts: made }: DeliveryRow): string {
  const results = made.map(
    ({ trigger, response_status: answered, failure }) => `${trigger[0]}${answered ?? failure}`,
  );
  return `${id} ${status} [${results.join(' ')}]`;
}
