import {
  ABOUT_EVENTS,
  EVENT_KINDS,
  type EventKind,
  type MainObject,
} from '../../../../src/domain/webhooks/event-kinds.ts';
import { sampleData } from '../../../../src/domain/webhooks/event-samples.ts';
import { valuesOf } from '../../../../src/domain/webhooks/matching.ts';
import {
  FILTER_FIELDS,
  type FilterField,
  type FilterValue,
} from '../../../../src/domain/webhooks/webhook.ts';

const RESOURCES: Readonly<Record<MainObject, string>> = {
  issue: 'Issues',
  comment: 'Comments',
  sprint: 'Sprints',
  project: 'Projects',
  user: 'People',
  deployment: 'Deployments',
};

/** Statuses that the sample does not have, although filters on them are common. */
export const USUAL_STATUSES: Readonly<Partial<Record<EventKind, readonly string[]>>> = {
  'deployment.completed': ['failed'],
};

/** The event kinds by resource. */
export const KINDS_BY_RESOURCE: readonly { title: string; kinds: readonly EventKind[] }[] = Object.entries(
  RESOURCES,
).map(([object, title]) => ({
  title,
  kinds: EVENT_KINDS.filter((kind) => ABOUT_EVENTS[kind].object === object),
}));

/** Returns the filter fields of an event kind, and whether its events contain changes, according to the sample. */
export function filterableIn(event: EventKind): { fields: FilterField[]; changes: boolean } {
  const data = sampleData(event);
  const fields = FILTER_FIELDS.filter((field) => valuesOf(field, { event, data }).values.length > 0);
  return { fields, changes: 'changes' in data };
}

const EMPTY = '(empty)';

/** Returns the label of a value. */
export function labelOf(value: FilterValue): string {
  return value === null ? EMPTY : String(value);
}

/** Returns the known value with this label and its type, else the text itself. */
export function valueOf(word: string, known: readonly FilterValue[]): FilterValue {
  return known.find((value) => typeof value !== 'string' && labelOf(value) === word) ?? word;
}

/** `status changes to Done`, `priority is High or Critical`. */
export function filterSentence(filter: {
  field: string;
  changed_to?: FilterValue;
  values?: readonly FilterValue[];
}): string {
  if (filter.values === undefined) return `${filter.field} changes to ${labelOf(filter.changed_to ?? null)}`;
  const words = filter.values.map(labelOf);
  const last = words.pop() ?? '';
  return `${filter.field} is ${words.length > 0 ? `${words.join(', ')} or ` : ''}${last}`;
}
