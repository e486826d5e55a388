import { EVENT_KINDS, type EventKind } from '../../../../src/domain/webhooks/event-kinds.ts';
import type {
  Filter,
  FilterField,
  FilterValue,
  Subscription,
} from '../../../../src/domain/webhooks/webhook.ts';

/** One filter in the form. `key` identifies it. */
export type DraftFilter = {
  key: number;
  field: FilterField;
  operator: 'changed_to' | 'values';
  /** One for `changed_to`. */
  values: FilterValue[];
};

/** The subscribed kinds with their filters. */
export type DraftEvents = Partial<Record<EventKind, DraftFilter[]>>;

let lastKey = 0;

/** A filter with its own key. */
export function newFilter(fields: Omit<DraftFilter, 'key'>): DraftFilter {
  lastKey += 1;
  return { key: lastKey, ...fields };
}

/** Returns a stored filter for the form. An empty text is no value. */
export function draftFilter(filter: Filter): DraftFilter {
  if ('values' in filter)
    return newFilter({ field: filter.field, operator: 'values', values: filter.values });
  const { field, changed_to: value } = filter;
  return newFilter({ field, operator: 'changed_to', values: value === '' ? [] : [value] });
}

/**
 * Returns the subscriptions for the API, in the order of the tree. An incomplete filter has an empty list of values, which
 * is invalid: the form cannot be saved with it.
 */
export function subscriptionsOf(events: DraftEvents): Subscription[] {
  return EVENT_KINDS.flatMap((event) => {
    const filters = events[event];
    return filters ? [{ event, filters: filters.map(filterOf) }] : [];
  });
}

function filterOf({ field, operator, values }: DraftFilter): Filter {
  const [value] = values;
  return operator === 'values' || value === undefined ? { field, values } : { field, changed_to: value };
}

/** Returns the subscriptions without incomplete filters, for the preview. */
export function completeSubscriptions(events: DraftEvents): Subscription[] {
  const written = Object.entries(events).map(
    ([event, filters]) => [event, filters.filter(({ values }) => values.length > 0)] as const,
  );
  return subscriptionsOf(Object.fromEntries(written));
}
