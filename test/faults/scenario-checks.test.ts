import assert from 'node:assert/strict';
import { isViolated } from '../../faults/invariants.ts';
import type { RequestRecord, ScenarioRecords, DeliveryRow, WebhookRecord } from '../../faults/records.ts';
import { checkInvariants } from '../../faults/checks.ts';
import { LONG_MINUTES, planScenario, SHORT_MINUTES } from '../../faults/plan.ts';
import { DISCONNECT_MODES, LINKS, PARTS } from '../../faults/plan-faults.ts';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import { createCallerRequest, createRequest, createPassingRecords } from './passing-records.ts';

/** A change of the records, and the invariant that must find it. */
type Violation = readonly [invariant: string, violate: (records: ScenarioRecords) => void];

const first = <T>(things: readonly T[]): T => {
  const [thing] = things;
  assert.ok(thing !== undefined);
  return thing;
};
const feedOf = (records: ScenarioRecords): FeedEvent[] => records.feed.get('run-completed') ?? [];
const webhook = (records: ScenarioRecords, name: string): WebhookRecord =>
  first(records.webhooks.filter((candidate) => candidate.name === name));
const delivery = (records: ScenarioRecords, name: string): DeliveryRow =>
  first(records.deliveries.filter((row) => row.webhook_id === `webhook-${name}`));
const copyOf = (arrival: RequestRecord, fields: Partial<RequestRecord> = {}): RequestRecord => ({
  ...arrival,
  ...fields,
});
/** Replaces the feed and numbers its events, so that it has no other violation. */
function replaceFeed(records: ScenarioRecords, events: FeedEvent[]): void {
  records.feed.set(
    'run-completed',
    events.map((event, index) => ({ ...event, seq: index + 1 })),
  );
}

const VIOLATIONS: readonly Violation[] = [
  ['tasks: accepted submissions lost', (records) => void records.runs.shift()],
  [
    'tasks: submissions that ran twice',
    (records) => records.runs.push({ ...first(records.runs), id: 'another' }),
  ],
  ['tasks: submissions that ran twice', (records) => first(records.tasks).ids.push('run-failed')],
  ['all: undocumented responses', (records) => records.unexpectedResponses.push('POST /x got 500')],
  ['tasks: runs not terminal', (records) => (first(records.runs).state = 'executing')],
  [
    'tasks: runs with more than one terminal state',
    (records) => replaceFeed(records, [...feedOf(records), ...feedOf(records).slice(-1)]),
  ],
  ['tasks: runs with more than one terminal state', (records) => (first(records.runs).state = 'failed')],
  [
    'tasks: runs with more than one terminal state',
    (records) => {
      const last = first(feedOf(records).slice(4, 5));
      replaceFeed(records, [...feedOf(records), { ...last, data: { to: 'failed' } }]);
    },
  ],
  [
    'tasks: runs whose end differs from their script',
    (records) => (first(records.tasks).plan.finalStates = ['failed']),
  ],
  [
    'tasks: accepted cancels of runs that were not cancelled',
    (records) => first(records.tasks).requests.push(createCallerRequest('cancel', 120, 130, { status: 202 })),
  ],
  [
    'tasks: reported states that never occurred',
    (records) =>
      first(records.tasks).requests.push(createCallerRequest('poll', 120, 130, { state: 'escalated' })),
  ],
  [
    'tasks: histories that no order explains',
    (records) =>
      first(records.tasks).requests.push(
        createCallerRequest('poll', 120, 130, { state: 'completed', lastSeq: 6 }),
      ),
  ],
  [
    'viewers: feeds that no order explains',
    (records) =>
      first(records.tasks).requests.push(
        createCallerRequest('poll', 98, 99, { state: 'completed', lastSeq: 6 }),
      ),
  ],
  ['tasks: runs paused', (records) => records.feed.clear()],
  ['tasks: runs cancelled', (records) => void records.runs.pop()],
  ['tasks: runs escalated', (records) => void records.runs.splice(2, 1)],
  ['tasks: runs failed', (records) => void records.runs.splice(1, 1)],
  [
    'feed: steps recorded twice',
    (records) => replaceFeed(records, [...feedOf(records), first(feedOf(records).slice(5, 6))]),
  ],
  ['feed: runs whose completed steps differ from their feed', (records) => (first(records.runs).steps = [])],
  ['feed: gaps', (records) => void feedOf(records).splice(2, 1)],
  ['feed: repeats', (records) => void feedOf(records).splice(3, 0, first(feedOf(records)))],
  ['feed: order breaks', (records) => records.feed.set('run-completed', feedOf(records).toReversed())],
  ['feed: runs whose last_seq is not their last event', (records) => (first(records.runs).last_seq = 4)],
  ['viewers: reconnected', (records) => records.viewers.forEach((viewer) => (viewer.connections = 1))],
  ['viewers: gaps', (records) => void first(records.viewers).events.splice(2, 1)],
  ['viewers: repeats', ({ viewers }) => void first(viewers).events.push(first(first(viewers).events))],
  ['viewers: order breaks', ({ viewers }) => (first(viewers).events = first(viewers).events.toReversed())],
  [
    'viewers: events that differ from the table',
    ({ viewers }) => (first(first(viewers).events).data = { to: 'paused' }),
  ],
  ['viewers: never received the end', (records) => void first(records.viewers).events.pop()],
  ['callbacks: delivered', (records) => records.runs.forEach((run) => (run.callback_status = 'failed'))],
  [
    'callbacks: beyond 3',
    ({ callbacks: { requests } }) =>
      requests.push(...Array.from({ length: 3 }, () => copyOf(first(requests)))),
  ],
  [
    'callbacks: beyond 3',
    ({ callbacks: { log } }) => log.push(...[2, 3, 4].map((attempt) => ({ ...first(log), attempt }))),
  ],
  [
    'callbacks: never sent, or given up before the third attempt',
    (records) => void records.callbacks.log.shift(),
  ],
  [
    'callbacks: never sent, or given up before the third attempt',
    (records) => {
      first(records.callbacks.log).response_status = 500;
      first(records.runs).callback_status = 'failed';
    },
  ],
  [
    'callbacks: never sent, or given up before the third attempt',
    (records) => (first(records.runs).callback_status = 'pending'),
  ],
  [
    'callbacks: of cancelled runs',
    ({ callbacks }) => callbacks.requests.push(createRequest('run-cancelled', '{"status":"cancelled"}')),
  ],
  [
    'callbacks: after one with a 2xx response',
    ({ callbacks: { log } }) => void log.splice(1, 0, { ...first(log), attempt: 2 }),
  ],
  [
    'callbacks: log rows that disagree with the receiver',
    (records) => (first(records.callbacks.requests).responseStatus = 500),
  ],
  [
    'callbacks: log rows that disagree with the receiver',
    ({ callbacks: { requests } }) => requests.push(copyOf(first(requests))),
  ],
  [
    'callbacks: signatures that do not verify',
    (records) => (first(records.callbacks.requests).signature = null),
  ],
  [
    'callbacks: bodies that differ between attempts',
    ({ callbacks: { requests } }) =>
      requests.push(createRequest('run-completed', '{ "status": "completed" }')),
  ],
  [
    'callbacks: with another final state than the run',
    (records) => (first(records.callbacks.requests).body = '{"status":"failed"}'),
  ],
  ['events: accepted events lost', (records) => void records.storedEvents.pop()],
  ['events: pairs never delivered', (records) => (webhook(records, 'steady').requests = [])],
  [
    'events: pairs never delivered',
    (records) => (first(webhook(records, 'flaky').requests).responseStatus = 500),
  ],
  [
    'events: pairs with two deliveries',
    ({ deliveries }) => deliveries.push({ ...first(deliveries), id: 'other' }),
  ],
  [
    'events: delivered although a filter did not match',
    (records) => webhook(records, 'filtered').requests.push(createRequest('other', '{"id":"e-low"}')),
  ],
  [
    'deliveries: duplicates not in the log',
    (records) => webhook(records, 'steady').requests.push(copyOf(first(webhook(records, 'steady').requests))),
  ],
  [
    'deliveries: duplicates far from any interruption',
    (records) => webhook(records, 'steady').requests.push(copyOf(first(webhook(records, 'steady').requests))),
  ],
  [
    'deliveries: retried by the schedule',
    ({ deliveries }) => deliveries.forEach((row) => (row.attempts = row.attempts.slice(-1))),
  ],
  [
    'deliveries: retried manually',
    (records) => (first(delivery(records, 'flaky').attempts).trigger = 'automatic'),
  ],
  [
    'deliveries: log rows that disagree with the receivers',
    (records) => (first(delivery(records, 'steady').attempts).response_status = 200),
  ],
  [
    'deliveries: log rows that disagree with the receivers',
    (records) => (delivery(records, 'steady').status = 'retrying'),
  ],
  [
    'deliveries: log rows that disagree with the receivers',
    (records) => (first(delivery(records, 'steady').attempts).number = 2),
  ],
  [
    'deliveries: log rows that disagree with the receivers',
    (records) => (delivery(records, 'steady').body = '{"id": "e-created"}'),
  ],
  ['deliveries: received but not in the log', (records) => void records.deliveries.shift()],
  ['deliveries: not settled at the end', (records) => (delivery(records, 'steady').status = 'held')],
  [
    'deliveries: signatures that do not verify',
    (records) => (first(webhook(records, 'steady').requests).signature = 'sha256=00'),
  ],
  [
    'deliveries: bodies that differ between attempts',
    (records) =>
      webhook(records, 'clock').requests.push(createRequest('delivery-clock', '{"id":"e-joined" }')),
  ],
  ['disabling: webhooks disabled after ten failures', (records) => (records.statusChanges = [])],
  [
    'disabling: attempts after it, by the log',
    (records) => (first(delivery(records, 'breaking').attempts).at -= 20_000),
  ],
  [
    'disabling: requests after it, at the receivers',
    (records) => (first(webhook(records, 'breaking').requests).at -= 20_000),
  ],
  ['disabling: people notified more than once', (records) => (first(records.notifications).count = 2)],
  [
    'clock: rejected while it was wrong',
    (records) => (first(webhook(records, 'clock').requests).at += 30_000),
  ],
  [
    'clock: rejected while it was correct',
    (records) => (first(webhook(records, 'clock').requests).at += 30_000),
  ],
  [
    'clock: accepted while it was wrong',
    (records) => (first(webhook(records, 'clock').requests).responseStatus = 204),
  ],
  [
    'certificate: rejected after it expired',
    (records) => (first(delivery(records, 'certificate').attempts).failure = 'timeout'),
  ],
  [
    'certificate: requests sent to an expired one',
    (records) => (first(webhook(records, 'certificate').requests).connectedAt -= 25_000),
  ],
  [
    'Temporal: workflows left running',
    ({ workflows }) => workflows.push({ id: 'events:1', type: 'dispatchEvents', status: 'RUNNING' }),
  ],
  [
    'Temporal: workflows left running',
    ({ workflows }) => workflows.push({ id: 'delivery:lost:1', type: 'webhookDelivery', status: 'RUNNING' }),
  ],
  [
    'Temporal: workflows that failed',
    ({ workflows }) => workflows.push({ id: 'run-completed', type: 'taskRun', status: 'FAILED' }),
  ],
  ['scenario: faults injected', (records) => (records.faults = [])],
  [
    'scenario: faults that could not be injected',
    (records) => (first(records.faults).failure = 'the process does not start'),
  ],
  [
    'scenario: processes that exited unexpectedly',
    (records) => records.unexpectedExits.push('api-1 exited unexpectedly'),
  ],
];

const violatedIn = (records: ScenarioRecords) =>
  checkInvariants(records)
    .filter(isViolated)
    .map(({ name }) => name);

describe('the checker of the fault scenario', () => {
  it('finds no violation in records without one', () => {
    assert.deepEqual(violatedIn(createPassingRecords()), []);
  });

  it('accepts a request that was sent again on a new connection, if the log has it', () => {
    const records = createPassingRecords();
    const { requests } = webhook(records, 'steady');
    requests.push(copyOf(first(requests)));
    first(delivery(records, 'steady').attempts).reconnected = true;
    const { callbacks } = records;
    callbacks.requests.push(copyOf(first(callbacks.requests)));
    first(callbacks.log).reconnected = true;
    assert.deepEqual(violatedIn(records), []);
  });

  for (const part of ['delivery-worker-1', 'api-1'] as const) {
    it(`accepts a request that was sent twice because ${part}, which sends webhooks, died`, () => {
      const records = createPassingRecords();
      const { requests } = webhook(records, 'steady');
      const again = copyOf(first(requests));
      requests.push(again);
      const fault = { at: 0, durationMs: 1, lane: 'processes', kind: 'kill', part } as const;
      records.faults.push({ fault, from: again.at, to: again.at + 1, failure: null });
      assert.deepEqual(violatedIn(records), []);
    });
  }

  for (const [invariant, violate] of VIOLATIONS) {
    it(`reports "${invariant}" after: ${violate
      .toString()
      .replace(/^[^=]*=>\s*/, '')
      .replace(/\s+/g, ' ')
      .slice(0, 60)}`, () => {
      const records = createPassingRecords();
      violate(records);
      const violated = violatedIn(records);
      assert.ok(violated.includes(invariant), `found only: ${violated.join(', ') || 'nothing'}`);
    });
  }

  it('has a test for every invariant that can be violated', () => {
    const results = checkInvariants(createPassingRecords()).filter(({ expected }) => expected !== 'any');
    const covered = new Set(VIOLATIONS.map(([line]) => line));
    assert.deepEqual(
      results.map(({ name }) => name).filter((name) => !covered.has(name)),
      [],
    );
  });
});

describe('the plan of a fault scenario', () => {
  it('depends only on the seed', () => {
    assert.deepEqual(planScenario(7, SHORT_MINUTES), planScenario(7, SHORT_MINUTES));
    assert.notDeepEqual(planScenario(7, SHORT_MINUTES), planScenario(8, SHORT_MINUTES));
  });

  it('has each kind of fault for each part in its long form', () => {
    for (const seed of [1, 2, 3]) {
      const { faults } = planScenario(seed, LONG_MINUTES);
      const planned = new Set(
        faults.map((fault) =>
          fault.kind === 'disconnect'
            ? `${fault.mode} ${fault.link}`
            : 'part' in fault
              ? `${fault.kind} ${fault.part}`
              : fault.kind,
        ),
      );
      const expected = [
        ...PARTS.flatMap((part) => ['kill', 'freeze', 'restart'].map((kind) => `${kind} ${part}`)),
        ...LINKS.flatMap((link) => DISCONNECT_MODES.map((how) => `${how} ${link}`)),
        'disk',
        'clock',
        'certificate',
        'refusals',
      ];
      assert.deepEqual(
        expected.filter((name) => !planned.has(name)),
        [],
      );
    }
  });
});
