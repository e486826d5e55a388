import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { queryBuilderOf } from '../../src/database/database.ts';
import {
  buildDeliveriesQuery,
  listDeliveries,
  type DeliveryFilter,
} from '../../src/database/webhooks/deliveries.ts';
import type { DeliveryStatus } from '../../src/domain/webhooks/delivery.ts';
import type { EventKind } from '../../src/domain/webhooks/event-kinds.ts';
import { useInstallation } from '../support/installation.ts';
import { storedRows } from '../support/stored-rows.ts';
import { holdsAsync } from './property.ts';

type Stored = {
  id: string;
  eventId: string;
  event: EventKind;
  status: DeliveryStatus;
  /** The words of the event, as they are stored. */
  words: string;
};

const KINDS = ['issue.created', 'issue.updated', 'project.created', 'user.joined'] as const;
const STATUSES = ['succeeded', 'failed', 'retrying'] as const;
const TITLES = ['cart', 'Cart created', 'user story', 'evt', 'issue.updated', ''];
/** Includes beginnings of titles, kinds, parts of kinds and ids, in both cases. */
const WORDS = [
  'cart',
  'CRE',
  'created',
  'issue',
  'issue.u',
  'us',
  'evt',
  'evt-1',
  'evt-12',
  'EVT-1',
  'join',
  'x',
];

/** Returns whether a text finds an event. `all` finds the beginnings of its id also beside other words. */
function isFound({ eventId, event, words }: Stored, text: string, all: boolean): boolean {
  const parts = [words, event, event.replace('.', ' ')].join(' ').toLowerCase().split(/\s+/);
  const given = text.split(' ');
  return given.every((word) => {
    const isWord = parts.some((part) => part !== '' && part.startsWith(word.toLowerCase()));
    if (all) return isWord || eventId.startsWith(word.toLowerCase());
    return (
      isWord ||
      (given.length === 1
        ? eventId.startsWith(word)
        : given.includes(eventId) && eventId.startsWith(word.toLowerCase()))
    );
  });
}

describe('the search of a log of deliveries', () => {
  const fresh = useInstallation();
  const rows = storedRows(fresh);
  const stored: Stored[] = [];
  let webhook: string;

  before(async () => {
    webhook = await rows.webhook();
    const other = await rows.webhook();
    for (let n = 0; n < 60; n += 1) {
      const [event, status] = [KINDS[n % KINDS.length]!, STATUSES[n % STATUSES.length]!];
      const title = TITLES[(n * 7) % TITLES.length]!;
      const eventId = `evt-${n}`;
      // Events of the previous version have their id and kind among their words.
      const words = n % 5 === 0 ? `${eventId} ${event} ${title}\n${event.split('.')[1]}` : title;
      const seq = await rows.event({ id: eventId, event, words });
      const of = { event_seq: seq, event_id: eventId, event, status };
      const id = await rows.delivery(webhook, of);
      if (n % 3 === 0) await rows.delivery(other, of);
      stored.push({ id, eventId, event, status, words });
    }
  });

  const some = <T extends string>(values: readonly T[]) =>
    fc.option(fc.uniqueArray(fc.constantFrom(...values), { minLength: 1 }), { nil: undefined });
  const FILTERS = fc.record({
    statuses: some(STATUSES),
    events: some(KINDS),
    text: fc.option(
      fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 3 }).map((words) => words.join(' ')),
      { nil: undefined },
    ),
    limit: fc.integer({ min: 1, max: 70 }),
  });

  const expected = (
    { statuses, events, text, limit }: Omit<DeliveryFilter, 'workspaceId' | 'webhookId'>,
    all: boolean,
  ) =>
    stored
      .filter((one) => statuses?.includes(one.status) ?? true)
      .filter((one) => events?.includes(one.event) ?? true)
      .filter((one) => text === undefined || isFound(one, text, all))
      .map(({ id }) => id)
      .toReversed()
      .slice(0, limit);

  const complete = (filter: object) =>
    ({ ...filter, workspaceId: fresh.installation.workspace_id, webhookId: webhook }) as DeliveryFilter;

  it('returns each delivery that matches once, the newest first, for any filter', async () => {
    await holdsAsync(
      [FILTERS],
      async (filter) => {
        const found = await listDeliveries(fresh.database, complete(filter));
        assert.deepEqual(
          found.map(({ id }) => id),
          expected(filter, false),
        );
      },
      300,
    );
  });

  it('returns the same if too many events match to list them, with beginnings of ids among other words', async () => {
    await holdsAsync(
      [FILTERS],
      async (filter) => {
        const matching = filter.text === undefined ? null : 'many';
        const query = buildDeliveriesQuery(complete(filter), matching);
        const { rows: found } = await query.execute(queryBuilderOf(fresh.database));
        assert.deepEqual(
          found.map(({ id }) => id),
          expected(filter, true),
        );
      },
      300,
    );
  });
});
