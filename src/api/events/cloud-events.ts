import { z } from 'zod';
import { anyEvent } from '../../domain/webhooks/event-documents.ts';
import { EVENT_KINDS } from '../../domain/webhooks/event-kinds.ts';
import { MAX_EVENTS_PER_REQUEST } from '../../domain/common/limits.ts';
import { fieldProblem } from '../http/fields.ts';
import {
  asGiven,
  bodySchema,
  checkData,
  checkList,
  eventId,
  eventTime,
  listOfEvents,
  pushAll,
  type IncomingEvent,
  type Issues,
} from './schema.ts';

/*
 * Events in the JSON format of CloudEvents 1.0. `type` is an event kind of Baton. `source`, `subject`, `dataschema`
 * and extensions are accepted and ignored.
 */

const cloudEvent = z.object({
  specversion: z.literal('1.0'),
  id: eventId,
  source: z.string().min(1),
  type: z.enum(EVENT_KINDS),
  time: eventTime.optional(),
  datacontenttype: z
    .string()
    .superRefine((value, context) => {
      if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(value)) {
        context.addIssue(fieldProblem('not_allowed', 'must be application/json'));
      }
    })
    .optional(),
  data: z.object({}),
  data_base64: z
    .unknown()
    .superRefine((value, context) => {
      if (value !== undefined)
        context.addIssue(fieldProblem('not_allowed', 'is not supported; send `data` as JSON'));
    })
    .optional(),
});

function checkCloudEvent(value: unknown, path: PropertyKey[], issues: Issues): IncomingEvent | null {
  const before = issues.length;
  const checked = cloudEvent.safeParse(value);
  if (!checked.success) pushAll(checked.error.issues, path, issues);
  const given = (value ?? {}) as { type?: unknown; data?: unknown };
  checkData(given.type, given.data, [...path, 'data'], issues);
  if (!checked.success || issues.length > before) return null;
  const { id, type, time } = checked.data;
  return { id, event: type, timestamp: time, data: asGiven(given.data) };
}

const SHAPE = anyEvent('CloudEvent', 'type');

/** Body schemas of CloudEvents by media type. */
export const cloudEventBodies = {
  'application/cloudevents+json': bodySchema((value, issues) => {
    const event = checkCloudEvent(value, [], issues);
    return { form: 'one', events: event ? [event] : [] };
  }, SHAPE),
  'application/cloudevents-batch+json': bodySchema(
    (value, issues) => {
      const list = listOfEvents.safeParse(value);
      if (!list.success) pushAll(list.error.issues, [], issues);
      return { form: 'list', events: checkList(list.data ?? [], [], issues, checkCloudEvent) };
    },
    { type: 'array', minItems: 1, maxItems: MAX_EVENTS_PER_REQUEST, items: SHAPE },
  ),
} as const;
