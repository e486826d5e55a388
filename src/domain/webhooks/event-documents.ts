import { EVENT_KINDS, type EventKind } from './event-kinds.ts';
import { dataSchema } from './event-schemas.ts';

/*
 * JSON Schemas of events as components of the OpenAPI document. Each kind has its own, since its `data` depends on it:
 * `IssueCreatedData`, and `IssueCreatedEvent` and others that contain it.
 */

type JsonSchema = Record<string, unknown>;

/** The last part of the name of a component, such as `IssueCreatedEvent`. */
type EventForm = 'Data' | 'Event' | 'CloudEvent' | 'Payload' | 'TestDelivery' | 'TestDraftRequest';

/** `issue.created` → `IssueCreated`. */
export function eventTypeName(kind: EventKind): string {
  return kind
    .split('.')
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');
}

/** Returns a reference to a component of a kind. */
export function eventRef(kind: EventKind, form: EventForm): { $ref: string } {
  return { $ref: `#/components/schemas/${eventTypeName(kind)}${form}` };
}

/** Returns the schema of an event of any kind: one of the components, chosen by the kind in the field `by`. */
export function anyEvent(form: EventForm, by: 'event' | 'type'): JsonSchema {
  const mapping = Object.fromEntries(EVENT_KINDS.map((kind) => [kind, eventRef(kind, form).$ref]));
  return {
    oneOf: EVENT_KINDS.map((kind) => eventRef(kind, form)),
    discriminator: { propertyName: by, mapping },
  };
}

const EVENT_ID = { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' };
const TIME = { type: 'string', format: 'date-time' };

/** Returns the components of all kinds. */
export function eventComponents(): Record<string, JsonSchema> {
  const named = EVENT_KINDS.flatMap((kind) =>
    Object.entries(formsOf(kind)).map(([form, schema]) => [`${eventTypeName(kind)}${form}`, schema] as const),
  );
  return Object.fromEntries(named);
}

function formsOf(kind: EventKind): Record<EventForm, JsonSchema> {
  const { $schema: _, ...schemaOfData } = dataSchema(kind);
  const named = { type: 'string', const: kind };
  const data = eventRef(kind, 'Data');
  const test = {
    type: 'object',
    required: ['event'],
    additionalProperties: false,
    properties: { event: named, data: { ...data, description: 'Replaces the data of the sample' } },
  };
  const draft = {
    type: 'string',
    format: 'uuid',
    description: '`draft` of a previewed request: sends it once, exactly as shown, within a day',
  };
  return {
    Data: schemaOfData,
    Event: {
      type: 'object',
      required: ['event', 'data'],
      additionalProperties: false,
      properties: {
        id: { ...EVENT_ID, description: 'Your id; default: generated' },
        event: named,
        timestamp: { ...TIME, description: 'Default: now' },
        data,
      },
    },
    CloudEvent: {
      type: 'object',
      required: ['specversion', 'id', 'source', 'type', 'data'],
      additionalProperties: true,
      properties: {
        specversion: { const: '1.0' },
        id: EVENT_ID,
        source: { type: 'string', minLength: 1 },
        type: named,
        time: TIME,
        datacontenttype: { type: 'string', pattern: '^[Aa]pplication/([\\w.-]+\\+)?[Jj]son\\s*(;|$)' },
        data,
      },
    },
    Payload: {
      type: 'object',
      required: ['id', 'event', 'timestamp', 'workspace', 'data'],
      properties: {
        id: { type: 'string', description: 'Id of the event' },
        event: named,
        timestamp: { ...TIME, description: 'When the event occurred' },
        workspace: {
          type: 'object',
          required: ['id', 'name'],
          properties: { id: { type: 'string' }, name: { type: 'string' } },
        },
        data,
      },
    },
    TestDelivery: { ...test, properties: { ...test.properties, draft } },
    TestDraftRequest: test,
  };
}
