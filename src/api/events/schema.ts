import { z } from 'zod';
import { isDeeperThan } from '../../domain/common/canonical-json.ts';
import { sampleData } from '../../domain/webhooks/event-samples.ts';
import { anyEvent } from '../../domain/webhooks/event-documents.ts';
import { EVENT_KINDS, isEventKind, type EventKind } from '../../domain/webhooks/event-kinds.ts';
import { EVENT_SCHEMAS } from '../../domain/webhooks/event-schemas.ts';
import {
  MAX_DATA_DEPTH,
  MAX_EVENT_ERRORS,
  MAX_EVENT_ID_LENGTH,
  MAX_EVENTS_PER_REQUEST,
} from '../../domain/common/limits.ts';
import { fieldProblem, shownAs } from '../http/fields.ts';

/** A validated event. `timestamp` is ISO 8601 UTC with milliseconds. */
export type IncomingEvent = {
  id?: string | undefined;
  event: EventKind;
  timestamp?: string | undefined;
  data: Record<string, unknown>;
};

/** The form of the body: one event, an object with `events`, or a list. */
export type BodyForm = 'one' | 'events' | 'list';
export type IncomingEvents = { form: BodyForm; events: IncomingEvent[] };

/** The issues of a zod context. Paths start at the body. */
export type Issues = Pick<z.core.ParsePayload, 'issues'>['issues'];

/** The range that can be stored, and written with a year of four digits. */
const FIRST_TIME = Date.parse('0001-01-01T00:00:00Z');
const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z');
const VISIBLE_ASCII = /^[\x21-\x7e]*$/;

export const eventId = z
  .string()
  .min(1)
  .max(MAX_EVENT_ID_LENGTH)
  .superRefine((value, context) => {
    if (!VISIBLE_ASCII.test(value)) {
      context.addIssue(
        fieldProblem('invalid_format', 'must consist of visible ASCII characters without spaces'),
      );
    }
  })
  .meta({ pattern: '^[\\x21-\\x7e]+$' });

export const eventTime = z.iso
  .datetime({ offset: true })
  .superRefine((value, context) => {
    const time = Date.parse(value);
    if (time < FIRST_TIME || time > LAST_TIME) {
      context.addIssue(fieldProblem('not_allowed', 'must be in the years 1 to 9999'));
    }
  })
  .transform((value) => new Date(value).toISOString())
  .meta(shownAs({ type: 'string', format: 'date-time' }));

/** The fields of an event. Its kind decides about `data`, which is not copied into the result. */
export const envelope = z.strictObject({
  id: eventId.optional(),
  event: z.enum(EVENT_KINDS),
  timestamp: eventTime.optional(),
  data: z.object({}),
});

/** Validates `data` against the schema of its event kind. Issues are added at `path`. */
export function checkData(event: unknown, data: unknown, path: PropertyKey[], issues: Issues): void {
  if (data === null || typeof data !== 'object' || Array.isArray(data)) return;
  if (isDeeperThan(data, MAX_DATA_DEPTH)) {
    const tooDeep = fieldProblem('too_deep', `must be at most ${MAX_DATA_DEPTH} levels deep`);
    issues.push({ ...tooDeep, path, input: data });
    return;
  }
  if (!isEventKind(event)) return;
  const checked = EVENT_SCHEMAS[event].safeParse(data);
  if (!checked.success) pushAll(checked.error.issues, path, issues);
}

/** Adds issues of a nested value. */
export function pushAll(found: readonly z.core.$ZodIssue[], path: PropertyKey[], issues: Issues): void {
  for (const issue of found) issues.push({ ...issue, path: [...path, ...issue.path] } as never);
}

function checkEvent(value: unknown, path: PropertyKey[], issues: Issues): IncomingEvent | null {
  const before = issues.length;
  const checked = envelope.safeParse(value);
  if (!checked.success) pushAll(checked.error.issues, path, issues);
  const given = (value ?? {}) as { event?: unknown; data?: unknown };
  checkData(given.event, given.data, [...path, 'data'], issues);
  if (!checked.success || issues.length > before) return null;
  return { ...checked.data, data: asGiven(given.data) };
}

/** Returns checked `data` as it was parsed. The result of a check lacks its unknown fields. */
export function asGiven(data: unknown): Record<string, unknown> {
  return data as Record<string, unknown>;
}

/** Validates the entries of a list of events, until too many issues were found. */
export function checkList(
  values: readonly unknown[],
  path: PropertyKey[],
  issues: Issues,
  check: (value: unknown, path: PropertyKey[], issues: Issues) => IncomingEvent | null,
): IncomingEvent[] {
  const events: IncomingEvent[] = [];
  for (const [index, value] of values.entries()) {
    const event = check(value, [...path, index], issues);
    if (event) events.push(event);
    if (issues.length >= MAX_EVENT_ERRORS) break;
  }
  return events;
}

export const listOfEvents = z.array(z.unknown()).min(1).max(MAX_EVENTS_PER_REQUEST);
const listBody = z.strictObject({ events: listOfEvents });

function checkBody(value: unknown, issues: Issues): IncomingEvents {
  if (value === null || typeof value !== 'object' || !Object.hasOwn(value, 'events')) {
    const event = checkEvent(value, [], issues);
    return { form: 'one', events: event ? [event] : [] };
  }
  const list = listBody.safeParse(value);
  if (!list.success) {
    pushAll(list.error.issues, [], issues);
    return { form: 'events', events: [] };
  }
  return { form: 'events', events: checkList(list.data.events, ['events'], issues, checkEvent) };
}

/** Returns a body schema from a function that adds issues; `shape` is its JSON Schema. */
export function bodySchema(
  check: (value: unknown, issues: Issues) => IncomingEvents,
  shape: Record<string, unknown>,
) {
  return z
    .unknown()
    .transform((value, context): IncomingEvents => check(value, context.issues))
    .meta(shownAs(shape));
}

const EVENT_SHAPE = anyEvent('Event', 'event');

/** One event, or up to 500 as `events`. */
export const eventsBody = bodySchema(checkBody, {
  examples: [{ event: 'issue.created', data: sampleData('issue.created') }],
  oneOf: [
    EVENT_SHAPE,
    {
      type: 'object',
      required: ['events'],
      additionalProperties: false,
      properties: {
        events: { type: 'array', minItems: 1, maxItems: MAX_EVENTS_PER_REQUEST, items: EVENT_SHAPE },
      },
    },
  ],
});

/** The result for one event. */
export const acceptedEvent = z.strictObject({
  id: z.string(),
  duplicate: z.boolean().describe('The event was already accepted and is not sent again'),
});
/** One result, or one for each event in the order sent. */
export const acceptedEvents = z.union([acceptedEvent, z.strictObject({ data: z.array(acceptedEvent) })]);
