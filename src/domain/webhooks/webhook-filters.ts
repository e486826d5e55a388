import { z } from 'zod';
import { EVENT_KINDS } from './event-kinds.ts';
import { MAX_FILTER_VALUE_LENGTH, MAX_FILTER_VALUES, MAX_FILTERS } from '../common/limits.ts';
import type { FieldProblem } from '../common/problem-codes.ts';
import { isStorableText } from '../common/text.ts';
import { FILTER_FIELDS, type FilterValue, type Subscription } from './webhook.ts';
import { fieldProblem, shownAs } from '../common/schema-parts.ts';

/** A filter value. */
const filterValue = z
  .unknown()
  .superRefine((value, context) => {
    const found = problemOfValue(value);
    if (found) context.addIssue(fieldProblem(...found));
  })
  .transform((value) => value as FilterValue)
  .meta(shownAs({ type: ['string', 'number', 'boolean', 'null'], maxLength: MAX_FILTER_VALUE_LENGTH }));

const filter = z
  .strictObject({
    field: z.enum(FILTER_FIELDS),
    changed_to: filterValue.optional().describe('The field changed to this value'),
    values: z
      .array(filterValue)
      .min(1)
      .max(MAX_FILTER_VALUES)
      .optional()
      .describe('The value of the field is one of these'),
  })
  .superRefine((value, context) => {
    const given = ['changed_to', 'values'].filter((name) => Object.hasOwn(value, name));
    if (given.length === 0) {
      context.addIssue(fieldProblem('required', 'must have either `changed_to` or `values`'));
    } else if (given.length === 2) {
      context.addIssue(fieldProblem('not_allowed', 'must not have both `changed_to` and `values`'));
    }
  })
  .meta({
    id: 'WebhookFilter',
    description: 'Has exactly one of `changed_to` and `values`',
    oneOf: [{ required: ['changed_to'] }, { required: ['values'] }],
  });

const subscription = z
  .strictObject({
    event: z.enum(EVENT_KINDS),
    filters: z.array(filter).max(MAX_FILTERS).default([]).describe('All filters must match'),
  })
  .meta({ id: 'WebhookSubscription' });

/** The subscribed kinds (docs/webhooks.md). Each kind occurs once. */
export const subscriptions = z
  .array(subscription)
  .min(1)
  .max(EVENT_KINDS.length)
  .superRefine((given, context) => {
    for (const [index, { event }] of given.entries()) {
      if (given.findIndex((other) => other.event === event) === index) continue;
      const problem = fieldProblem('not_allowed', 'is listed twice; put all its filters in one entry');
      context.addIssue({ ...problem, path: [index, 'event'] });
    }
  })
  .transform((given) => given as Subscription[]);

function problemOfValue(value: unknown): [FieldProblem, string] | null {
  if (value === null || typeof value === 'boolean') return null;
  if (typeof value === 'number') {
    const exact = Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
    return exact
      ? null
      : ['number_not_exact', 'is a number that cannot be stored exactly; send it as a string'];
  }
  if (typeof value !== 'string') return ['wrong_type', 'must be a string, a number, true, false or null'];
  if (value.length > MAX_FILTER_VALUE_LENGTH && Array.from(value).length > MAX_FILTER_VALUE_LENGTH) {
    return ['too_long', `must have at most ${MAX_FILTER_VALUE_LENGTH} characters`];
  }
  return isStorableText(value)
    ? null
    : ['not_storable', 'must not contain a NUL character or half of a surrogate pair'];
}
