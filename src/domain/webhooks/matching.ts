import { ABOUT_EVENTS, type EventKind, type MainObject } from './event-kinds.ts';
import type { Filter, FilterField, FilterValue, Subscription } from './webhook.ts';
import { truncate } from '../common/text.ts';
import { canonicalJson } from '../common/canonical-json.ts';
import { remembering } from '../common/remembering.ts';

/** Whether an event goes to a webhook. `reason` says why a filter did not match; null unless `match` is `skip`. */
export type Verdict = { match: 'send' | 'skip' | 'unsubscribed'; reason: string | null };

/** The parts of an event that filters are compared with: the kind, and the parsed `data`. */
export type MatchableEvent = { event: EventKind; data: Record<string, unknown> };

const MAX_MISMATCH_LENGTH = 500;
const SHOWN_VALUES = 5;
const SHOWN_LENGTH = 60;
/** Fields that identify an object, such as a person or a project, in a filter. */
const IDENTIFYING_FIELDS = ['id', 'key', 'name', 'email'] as const;

/** Decides whether its event goes to the webhook with these subscriptions. */
export type Matcher = (subscriptions: readonly Subscription[]) => Verdict;

/**
 * Creates the function that matches an event with the subscriptions of webhooks. All filters of its kind must match. Values
 * compare exactly (docs/webhooks.md). An event may have thousands of changes, and a workspace thousands of filters: the changes
 * are read once for each field.
 */
export function createMatcher(event: MatchableEvent): Matcher {
  const changeOf = remembering((field) => readChange(field, event));
  return (subscriptions) => {
    const subscription = subscriptions.find((candidate) => candidate.event === event.event);
    if (!subscription) return { match: 'unsubscribed', reason: null };
    for (const filter of subscription.filters) {
      const mismatch =
        'values' in filter ? valueMismatch(filter, event) : changeMismatch(filter, changeOf(filter.field));
      if (mismatch !== null) {
        const reason = truncate(mismatch, MAX_MISMATCH_LENGTH).toWellFormed();
        return { match: 'skip', reason };
      }
    }
    return { match: 'send', reason: null };
  };
}

/** Matches an event with the subscriptions of one webhook. */
export function matchEvent(subscriptions: readonly Subscription[], event: MatchableEvent): Verdict {
  return createMatcher(event)(subscriptions);
}

function valueMismatch(
  { field, values }: Filter & { values: FilterValue[] },
  event: MatchableEvent,
): string | null {
  const present = presentValue(field, event);
  if (present === undefined) return `the event has no ${field}`;
  const meant = meanings(present);
  if (values.some((value) => meant.includes(value))) return null;
  return `${field} is ${shown(present)}, not ${shownList(values, 'or')}`;
}

/** The new values of a field, and all filter values that match one of them. */
type Change = { news: readonly unknown[]; matching: ReadonlySet<unknown> };

function readChange(field: string, event: MatchableEvent): Change {
  const news = newValues(field, event);
  const matching = new Set(news.flatMap(meanings));
  // A change may contain only one name of a person or project. The event itself contains the others.
  const named = meanings(presentValue(field, event));
  if (named.some((name) => matching.has(name))) for (const name of named) matching.add(name);
  return { news, matching };
}

function changeMismatch(
  { field, changed_to: wanted }: Filter & { changed_to: FilterValue },
  { news, matching }: Change,
): string | null {
  if (news.length === 0) return `${field} did not change`;
  if (matching.has(wanted)) return null;
  return `${field} changed to ${shownList(news, 'and')}, not to ${shown(wanted)}`;
}

/** Returns the filter values on a field that would match this event, each by its best-known name. */
export function valuesOf(
  field: FilterField,
  event: MatchableEvent,
): { values: FilterValue[]; changedTo: FilterValue[] } {
  const known = (value: unknown) => nameOf(value) as FilterValue;
  return {
    values: [presentValue(field, event)].map(known).filter(isFilterValue),
    changedTo: newValues(field, event).map(known).filter(isFilterValue),
  };
}

/** Fields by which people know an object, the best-known first. */
const DISPLAY_FIELDS = ['key', 'name', 'email', 'id'] as const;

function nameOf(value: unknown): unknown {
  if (!isObject(value)) return value;
  return DISPLAY_FIELDS.map((member) => value[member]).find((name) => name !== undefined && name !== null);
}

function isFilterValue(value: unknown): value is FilterValue {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

/** Returns the filter values that match this value: itself, or for an object its identifying fields. */
function meanings(value: unknown): unknown[] {
  if (!isObject(value)) return [value];
  return IDENTIFYING_FIELDS.map((member) => value[member]).filter(
    (name) => name !== undefined && name !== null,
  );
}

/** Filters on a comment event apply to its issue. */
const FILTERED_OBJECTS: Readonly<Partial<Record<MainObject, string>>> = { comment: 'issue' };

/** Returns the value of a field after the event; undefined if the event does not have the field. */
function presentValue(field: string, { event, data }: MatchableEvent): unknown {
  const { object } = ABOUT_EVENTS[event];
  const holder = data[FILTERED_OBJECTS[object] ?? object];
  if (field === 'project' && object === 'project') return holder;
  const own = isObject(holder) && Object.hasOwn(holder, field) ? holder[field] : undefined;
  return own === undefined && field === 'project' ? data['project'] : own;
}

function newValues(field: string, { data }: MatchableEvent): unknown[] {
  const changes = Array.isArray(data['changes']) ? data['changes'] : [];
  return changes
    .filter((change) => isObject(change) && change['field'] === field && change['new_value'] !== undefined)
    .filter(({ old_value: before, new_value: after }) => !isSameJson(before, after))
    .map((change) => change.new_value);
}

/** Values of an event are not deep, its schema limits that. */
function isSameJson(one: unknown, other: unknown): boolean {
  const text = canonicalJson(one);
  return text !== null && text === canonicalJson(other);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function shown(value: unknown): string {
  const named = isObject(value) ? (value['name'] ?? value['key'] ?? value['id'] ?? 'an object') : value;
  if (named === null) return 'empty';
  // Shortened first: it may have a million characters.
  const short = typeof named === 'string' ? named.slice(0, SHOWN_LENGTH) : named;
  const text = typeof named === 'object' ? 'a list' : JSON.stringify(short);
  return text.length > SHOWN_LENGTH ? `${truncate(text, SHOWN_LENGTH)}…` : text;
}

/** Returns `"High"`, `"High" or "Critical"`, `"A", "B", "C", "D", "E" or 2 more`. */
function shownList(values: readonly unknown[], word: 'and' | 'or'): string {
  const parts = values.slice(0, SHOWN_VALUES).map(shown);
  if (values.length > SHOWN_VALUES) parts.push(`${values.length - SHOWN_VALUES} more`);
  const last = parts.pop() ?? '';
  return parts.length === 0 ? last : `${parts.join(', ')} ${word} ${last}`;
}
