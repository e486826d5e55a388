import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { EVENT_KINDS, type EventKind } from '../../src/domain/webhooks/event-kinds.ts';
import { matchEvent, type MatchableEvent } from '../../src/domain/webhooks/matching.ts';
import {
  FILTER_FIELDS,
  type Filter,
  type FilterField,
  type FilterValue,
  type Subscription,
} from '../../src/domain/webhooks/webhook.ts';
import { holds } from './property.ts';

/** Only a few values, so that filters and events often match; some of them only look alike. */
const value = fc.constantFrom<FilterValue>('open', 'closed', 'Open', 'SHOP', 'u1', '1', 1, 0, '', null, true);
const named = fc.record(
  { id: value, key: value, name: value, email: value },
  { requiredKeys: [] },
) as fc.Arbitrary<unknown>;
const fieldValue = fc.oneof(value, named, fc.constant([1]));
const members = fc.dictionary(fc.constantFrom(...FILTER_FIELDS, 'other'), fieldValue, { maxKeys: 6 });
const change = fc.oneof(
  fc.record(
    { field: fc.constantFrom(...FILTER_FIELDS, 'other'), old_value: fieldValue, new_value: fieldValue },
    { requiredKeys: ['field'] },
  ),
  fc.constant(null),
);
const filter: fc.Arbitrary<Filter> = fc.oneof(
  fc.record({ field: fc.constantFrom(...FILTER_FIELDS), changed_to: value }),
  fc.record({
    field: fc.constantFrom(...FILTER_FIELDS),
    values: fc.array(value, { minLength: 1, maxLength: 4 }),
  }),
);
const subscription = fc.record({
  event: fc.constantFrom(...EVENT_KINDS),
  filters: fc.array(filter, { maxLength: 3 }),
});
const subscriptions = fc.uniqueArray(subscription, { selector: ({ event }) => event, minLength: 1 });
const event: fc.Arbitrary<MatchableEvent> = fc.record({
  event: fc.constantFrom(...EVENT_KINDS),
  data: fc.record(
    {
      issue: members,
      comment: members,
      sprint: members,
      project: fc.oneof(named, members),
      user: members,
      deployment: members,
      changes: fc.oneof(fc.array(change, { maxLength: 4 }), fc.constant('none')),
    },
    { requiredKeys: [] },
  ),
});

describe('filters, for random events', () => {
  it('agree with a second implementation of their rules', () => {
    holds(
      [subscriptions, event],
      (given, happened) => {
        assert.equal(matchEvent(given, happened).match, verdictByRules(given, happened));
      },
      5_000,
    );
  });

  it('send an event only if each of them alone would send it', () => {
    holds([event, fc.array(filter, { maxLength: 3 }), filter], (happened, filters, more) => {
      const sent = (list: Filter[]) =>
        matchEvent([{ event: happened.event, filters: list }], happened).match === 'send';
      if (sent([...filters, more])) assert.ok(sent(filters) && sent([more]));
      if (sent(filters) && sent([more])) assert.ok(sent([more, ...filters]));
    });
  });

  it('return a reason of at most 500 storable characters if they do not match', () => {
    const anyText = fc.string({ unit: 'binary', maxLength: 80 });
    holds(
      [anyText, fc.array(anyText, { minLength: 1, maxLength: 8 })],
      (status, values) => {
        const data = { issue: { status } };
        const filters: Filter[] = [{ field: 'status', values }];
        const { match, reason } = matchEvent([{ event: 'issue.created', filters }], {
          event: 'issue.created',
          data,
        });
        if (match !== 'skip') return;
        assert.match(reason ?? '', /^status |no status$/);
        assert.ok((reason?.length ?? 0) <= 500 && reason?.isWellFormed());
      },
      200,
    );
  });
});

/** Implements the rules of the documentation, without optimization or reasons. */
function verdictByRules(subscribed: readonly Subscription[], happened: MatchableEvent) {
  const mine = subscribed.filter(({ event: kind }) => kind === happened.event);
  if (mine.length === 0) return 'unsubscribed';
  return mine.every(({ filters }) => filters.every((one) => passes(one, happened))) ? 'send' : 'skip';
}

function passes(wanted: Filter, { event: kind, data }: MatchableEvent): boolean {
  const now = valueOf(wanted.field, kind, data);
  if ('values' in wanted) {
    return now !== undefined && namesOf(now).some((name) => wanted.values.includes(name as FilterValue));
  }
  const changes = Array.isArray(data['changes']) ? data['changes'] : [];
  return changes.some((entry: { field?: string; new_value?: unknown } | null) => {
    if (entry?.field !== wanted.field || entry.new_value === undefined) return false;
    const names = namesOf(entry.new_value);
    if (names.includes(wanted.changed_to)) return true;
    // The event contains more identifiers of an object than its change: one common identifier is enough.
    const fullNames = namesOf(now);
    const isSame = fullNames.length > 1 && names.some((name) => fullNames.includes(name));
    return isSame && fullNames.includes(wanted.changed_to);
  });
}

function valueOf(field: FilterField, kind: EventKind, data: Record<string, unknown>): unknown {
  const about = kind.startsWith('comment.') ? 'issue' : kind.slice(0, kind.indexOf('.'));
  if (about === 'project' && field === 'project') return data['project'];
  const own = (data[about] as Record<string, unknown> | undefined)?.[field];
  if (own !== undefined) return own;
  return field === 'project' ? data['project'] : undefined;
}

function namesOf(thing: unknown): unknown[] {
  if (thing === undefined) return [];
  if (thing === null || typeof thing !== 'object' || Array.isArray(thing)) return [thing];
  const { id, key, name, email } = thing as Record<string, unknown>;
  return [id, key, name, email].filter((one) => one !== undefined && one !== null);
}
