import assert from 'node:assert/strict';
import {
  isBroken,
  type Arrival,
  type Books,
  type DeliveryRow,
  type WebhookBook,
} from '../../faults/books.ts';
import { checkStory } from '../../faults/checks.ts';
import { LONG_MINUTES, planStory, SHORT_MINUTES } from '../../faults/plan.ts';
import { CUTS, LINKS, PARTS } from '../../faults/plan-disturbances.ts';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import { arrivalOf, soundStory } from './sound-story.ts';

/** What is put wrong, and the line that must say so. */
type Planted = readonly [line: string, plant: (books: Books) => void];

const first = <T>(things: readonly T[]): T => {
  const [thing] = things;
  assert.ok(thing !== undefined);
  return thing;
};
const feedOf = (books: Books): FeedEvent[] => books.feed.get('run-completed') ?? [];
const webhook = (books: Books, name: string): WebhookBook =>
  first(books.webhooks.filter((one) => one.name === name));
const delivery = (books: Books, name: string): DeliveryRow =>
  first(books.deliveries.filter((row) => row.webhook_id === `webhook-${name}`));
const again = (arrival: Arrival, members: Partial<Arrival> = {}): Arrival => ({ ...arrival, ...members });
/** The feed with other events, and a number to match, so that nothing else is wrong with it. */
function tell(books: Books, events: FeedEvent[]): void {
  books.feed.set(
    'run-completed',
    events.map((event, index) => ({ ...event, seq: index + 1 })),
  );
}

const PLANTED: readonly Planted[] = [
  ['tasks: accepted submissions lost', (books) => void books.runs.shift()],
  ['tasks: submissions that ran twice', (books) => books.runs.push({ ...first(books.runs), id: 'another' })],
  ['tasks: submissions that ran twice', (books) => first(books.tasks).ids.push('run-failed')],
  [
    'all: answers that no document promises',
    (books) => books.strangeAnswers.push('POST /x was answered 500'),
  ],
  ['tasks: runs not terminal', (books) => (first(books.runs).state = 'executing')],
  [
    'tasks: runs with more than one terminal state',
    (books) => tell(books, [...feedOf(books), ...feedOf(books).slice(-1)]),
  ],
  ['tasks: runs with more than one terminal state', (books) => (first(books.runs).state = 'failed')],
  [
    'tasks: runs with more than one terminal state',
    (books) => {
      const last = first(feedOf(books).slice(4, 5));
      tell(books, [...feedOf(books), { ...last, data: { to: 'failed' } }]);
    },
  ],
  [
    'tasks: runs that ended otherwise than they were played',
    (books) => (first(books.tasks).plan.ends = ['failed']),
  ],
  [
    'tasks: cancels answered 202 of runs that ended otherwise',
    (books) => first(books.tasks).told.push({ asked: 'cancel', status: 202 }),
  ],
  [
    'tasks: states told that never were',
    (books) => first(books.tasks).told.push({ asked: 'poll', status: 200, state: 'escalated' }),
  ],
  [
    'tasks: answers that went back in time',
    (books) => first(books.tasks).told.push({ asked: 'poll', status: 200, state: 'completed', lastSeq: 3 }),
  ],
  ['tasks: runs paused', (books) => books.feed.clear()],
  ['tasks: runs cancelled', (books) => void books.runs.pop()],
  ['tasks: runs escalated', (books) => void books.runs.splice(2, 1)],
  ['tasks: runs failed', (books) => void books.runs.splice(1, 1)],
  [
    'feed: steps recorded twice',
    (books) => tell(books, [...feedOf(books), first(feedOf(books).slice(5, 6))]),
  ],
  ['feed: runs that show other steps as completed than were told', (books) => (first(books.runs).steps = [])],
  ['feed: gaps', (books) => void feedOf(books).splice(2, 1)],
  ['feed: repeats', (books) => void feedOf(books).splice(3, 0, first(feedOf(books)))],
  ['feed: order breaks', (books) => books.feed.set('run-completed', feedOf(books).toReversed())],
  ['feed: runs whose number is not their last event', (books) => (first(books.runs).last_seq = 4)],
  ['viewers: came back', (books) => books.viewers.forEach((viewer) => (viewer.connections = 1))],
  ['viewers: gaps', (books) => void first(books.viewers).events.splice(2, 1)],
  ['viewers: repeats', ({ viewers }) => void first(viewers).events.push(first(first(viewers).events))],
  ['viewers: order breaks', ({ viewers }) => (first(viewers).events = first(viewers).events.toReversed())],
  [
    'viewers: events that differ from the table',
    ({ viewers }) => (first(first(viewers).events).data = { to: 'paused' }),
  ],
  ['viewers: never saw the end', (books) => void first(books.viewers).events.pop()],
  ['callbacks: delivered', (books) => books.runs.forEach((run) => (run.callback_status = 'failed'))],
  [
    'callbacks: beyond 3',
    ({ callbacks: { arrivals } }) =>
      arrivals.push(...Array.from({ length: 3 }, () => again(first(arrivals)))),
  ],
  [
    'callbacks: beyond 3',
    ({ callbacks: { log } }) => log.push(...[2, 3, 4].map((attempt) => ({ ...first(log), attempt }))),
  ],
  [
    'callbacks: never sent, or given up before the third attempt',
    (books) => void books.callbacks.log.shift(),
  ],
  [
    'callbacks: never sent, or given up before the third attempt',
    (books) => {
      first(books.callbacks.log).response_status = 500;
      first(books.runs).callback_status = 'failed';
    },
  ],
  [
    'callbacks: never sent, or given up before the third attempt',
    (books) => (first(books.runs).callback_status = 'pending'),
  ],
  [
    'callbacks: of cancelled runs',
    ({ callbacks }) => callbacks.arrivals.push(arrivalOf('run-cancelled', '{"status":"cancelled"}')),
  ],
  [
    'callbacks: after one that was answered 2xx',
    ({ callbacks: { log } }) => void log.splice(1, 0, { ...first(log), attempt: 2 }),
  ],
  [
    'callbacks: log rows that disagree with the receiver',
    (books) => (first(books.callbacks.arrivals).answered = 500),
  ],
  [
    'callbacks: log rows that disagree with the receiver',
    ({ callbacks: { arrivals } }) => arrivals.push(again(first(arrivals))),
  ],
  ['callbacks: signatures that do not verify', (books) => (first(books.callbacks.arrivals).signature = null)],
  [
    'callbacks: bodies that differ between attempts',
    ({ callbacks: { arrivals } }) => arrivals.push(arrivalOf('run-completed', '{ "status": "completed" }')),
  ],
  [
    'callbacks: that tell another end than the run had',
    (books) => (first(books.callbacks.arrivals).body = '{"status":"failed"}'),
  ],
  ['events: accepted events lost', (books) => void books.storedEvents.pop()],
  ['events: pairs never delivered', (books) => (webhook(books, 'steady').arrivals = [])],
  ['events: pairs never delivered', (books) => (first(webhook(books, 'flaky').arrivals).answered = 500)],
  [
    'events: pairs with two deliveries',
    ({ deliveries }) => deliveries.push({ ...first(deliveries), id: 'other' }),
  ],
  [
    'events: delivered though a filter said no',
    (books) => webhook(books, 'filtered').arrivals.push(arrivalOf('other', '{"id":"e-low"}')),
  ],
  [
    'deliveries: duplicates beside the log',
    (books) => webhook(books, 'steady').arrivals.push(again(first(webhook(books, 'steady').arrivals))),
  ],
  [
    'deliveries: duplicates far from any interruption',
    (books) => webhook(books, 'steady').arrivals.push(again(first(webhook(books, 'steady').arrivals))),
  ],
  [
    'deliveries: retried by the schedule',
    ({ deliveries }) => deliveries.forEach((row) => (row.attempts = row.attempts.slice(-1))),
  ],
  [
    'deliveries: retried by hand',
    (books) => (first(delivery(books, 'flaky').attempts).trigger = 'automatic'),
  ],
  [
    'deliveries: log rows that disagree with the receivers',
    (books) => (first(delivery(books, 'steady').attempts).response_status = 200),
  ],
  [
    'deliveries: log rows that disagree with the receivers',
    (books) => (delivery(books, 'steady').status = 'retrying'),
  ],
  [
    'deliveries: log rows that disagree with the receivers',
    (books) => (first(delivery(books, 'steady').attempts).number = 2),
  ],
  [
    'deliveries: log rows that disagree with the receivers',
    (books) => (delivery(books, 'steady').body = '{"id": "e-created"}'),
  ],
  ['deliveries: that arrived and are not in the log', (books) => void books.deliveries.shift()],
  ['deliveries: not settled in the end', (books) => (delivery(books, 'steady').status = 'held')],
  [
    'deliveries: signatures that do not verify',
    (books) => (first(webhook(books, 'steady').arrivals).signature = 'sha256=00'),
  ],
  [
    'deliveries: bodies that differ between attempts',
    (books) => webhook(books, 'clock').arrivals.push(arrivalOf('delivery-clock', '{"id":"e-joined" }')),
  ],
  ['disabling: webhooks disabled after ten failures', (books) => (books.switchings = [])],
  [
    'disabling: attempts after it, by the log',
    (books) => (first(delivery(books, 'breaking').attempts).at -= 20_000),
  ],
  [
    'disabling: requests after it, at the receivers',
    (books) => (first(webhook(books, 'breaking').arrivals).at -= 20_000),
  ],
  ['disabling: people notified more than once', (books) => (first(books.notices).count = 2)],
  ['clock: refused while it was wrong', (books) => (first(webhook(books, 'clock').arrivals).at += 30_000)],
  ['clock: refused while it was right', (books) => (first(webhook(books, 'clock').arrivals).at += 30_000)],
  ['clock: taken while it was wrong', (books) => (first(webhook(books, 'clock').arrivals).answered = 204)],
  [
    'certificate: refused after it had run out',
    (books) => (first(delivery(books, 'certificate').attempts).failure = 'timeout'),
  ],
  [
    'certificate: requests sent to one that had run out',
    (books) => (first(webhook(books, 'certificate').arrivals).connectedAt -= 25_000),
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
  ['story: disturbances made', (books) => (books.made = [])],
  [
    'story: disturbances that could not be made',
    (books) => (first(books.made).failure = 'the part does not start'),
  ],
  ['story: processes that ended by themselves', (books) => books.unbidden.push('api-1 ended by itself')],
];

const brokenIn = (books: Books) =>
  checkStory(books)
    .filter(isBroken)
    .map(({ name }) => name);

describe('the checker of the story of faults', () => {
  it('finds nothing wrong in a sound story', () => {
    assert.deepEqual(brokenIn(soundStory()), []);
  });

  for (const [line, plant] of PLANTED) {
    it(`finds what is wrong by "${line}": ${plant
      .toString()
      .replace(/^[^=]*=>\s*/, '')
      .replace(/\s+/g, ' ')
      .slice(0, 60)}`, () => {
      const books = soundStory();
      plant(books);
      const broken = brokenIn(books);
      assert.ok(broken.includes(line), `only found: ${broken.join(', ') || 'nothing'}`);
    });
  }

  it('has a planted violation for every line that can be broken', () => {
    const lines = checkStory(soundStory()).filter(({ wanted }) => wanted !== 'figure');
    const planted = new Set(PLANTED.map(([line]) => line));
    assert.deepEqual(
      lines.map(({ name }) => name).filter((name) => !planted.has(name)),
      [],
    );
  });
});

describe('the plan of a story', () => {
  it('is the same for the same seed, and another for another', () => {
    assert.deepEqual(planStory(7, SHORT_MINUTES), planStory(7, SHORT_MINUTES));
    assert.notDeepEqual(planStory(7, SHORT_MINUTES), planStory(8, SHORT_MINUTES));
  });

  it('does each kind to each part in its long form', () => {
    for (const seed of [1, 2, 3]) {
      const { disturbances } = planStory(seed, LONG_MINUTES);
      const made = new Set(
        disturbances.map((one) =>
          one.kind === 'cut'
            ? `${one.how} ${one.link}`
            : 'part' in one
              ? `${one.kind} ${one.part}`
              : one.kind,
        ),
      );
      const wanted = [
        ...PARTS.flatMap((part) => ['kill', 'freeze', 'restart'].map((kind) => `${kind} ${part}`)),
        ...LINKS.flatMap((link) => CUTS.map((how) => `${how} ${link}`)),
        'disk',
        'clock',
        'certificate',
        'refusals',
      ];
      assert.deepEqual(
        wanted.filter((one) => !made.has(one)),
        [],
      );
    }
  });
});
