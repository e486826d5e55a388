import { z } from 'zod';
import { MAX_MESSAGE_ID_LENGTH } from '../../domain/common/limits.ts';
import { allowMoreInResponses } from '../http/openapi.ts';
import { REPLIES, CLIENT_MESSAGES, PUSHED, ROOM_EVENTS } from './channel-vocabulary.ts';

export type JsonObject = Record<string, unknown>;
/** A message of the document. `x-socket-io` describes its form for Socket.IO clients. */
export type DescribedMessage = {
  name: string;
  title: string;
  summary: string;
  payload: JsonObject;
  examples: { payload: unknown }[];
  'x-socket-io': string;
};

/** Returns all schemas by name, in JSON Schema draft 7, which AsyncAPI's own schemas extend. */
export function componentSchemas(): Record<string, JsonObject> {
  const clientSchemas = z.object(mapValues(CLIENT_MESSAGES, ({ schema }) => schema));
  const serverSchemas = z.object({ ...REPLIES, ...PUSHED, ...ROOM_EVENTS.workflow, ...ROOM_EVENTS.webhook });
  const definitions = (schema: z.ZodType, io: 'input' | 'output') => {
    const override = ({ jsonSchema }: { jsonSchema: object }) => allowMoreInResponses({ jsonSchema, io });
    const text = JSON.stringify(z.toJSONSchema(schema, { target: 'draft-7', io, override }));
    return JSON.parse(text.replaceAll('"#/definitions/', '"#/components/schemas/')).definitions;
  };
  return { ...definitions(clientSchemas, 'input'), ...definitions(serverSchemas, 'output') };
}

export function messagesFromClient(schemas: Record<string, JsonObject>) {
  return mapValues(CLIENT_MESSAGES, ({ schema, replyType }, name) =>
    described(name, schema, schemas, {
      hasId: true,
      wrap: (body) => ({ type: name, ...body }),
      socketIo: `\`emit('${name}', { … }, acknowledge)\`, acknowledged with \`{ ok: true, … }\` and the fields of \`${replyType}\`, or with \`{ ok: false, … }\` and those of \`refused\``,
    }),
  );
}

export function repliesToClient(schemas: Record<string, JsonObject>) {
  return mapValues(REPLIES, (schema, name) =>
    described(name, schema, schemas, {
      hasId: true,
      wrap: (body) => ({ type: name, ...body }),
      socketIo: `the acknowledgement of the message, with \`ok: ${name !== 'refused'}\` instead of \`type\``,
    }),
  );
}

export function pushedToClient(schemas: Record<string, JsonObject>) {
  return mapValues(PUSHED, (schema, name) =>
    described(name, schema, schemas, {
      hasId: false,
      wrap: (body) => ({ type: name, ...body }),
      socketIo: `the event \`${name}\` with the same object as argument, without \`type\``,
    }),
  );
}

/** Returns the events of a kind of room. Each is wrapped in a message `event`. */
export function eventsOf(kind: keyof typeof ROOM_EVENTS, schemas: Record<string, JsonObject>) {
  const events: Record<string, z.ZodType> = ROOM_EVENTS[kind];
  return mapValues(events, (schema, name): DescribedMessage => {
    const { id = '', description = '', examples = [] } = schema.meta() ?? {};
    if (!schemas[id]) throw new Error(`the event ${name} has no schema of its own`);
    const event = { $ref: `#/components/schemas/${id}` };
    return {
      name,
      title: name,
      summary: description,
      payload: {
        type: 'object',
        properties: { type: { type: 'string', const: 'event' }, event },
        required: ['type', 'event'],
      },
      examples: examples.map((example) => ({ payload: { type: 'event', event: example } })),
      'x-socket-io': 'the event `event` with the value of `event` as argument',
    };
  });
}

type Form = { hasId: boolean; wrap: (body: JsonObject) => JsonObject; socketIo: string };

/** Returns a message whose plain form has its name as `type` next to the fields of its schema. */
function described(
  name: string,
  schema: z.ZodType,
  schemas: Record<string, JsonObject>,
  { hasId, wrap, socketIo }: Form,
): DescribedMessage {
  const { id = '', description = name, examples = [] } = schema.meta() ?? {};
  const own = schemas[id];
  if (!own) throw new Error(`the message ${name} has no schema of its own`);
  return {
    name,
    title: name,
    summary: description,
    payload: withType(own, name, hasId),
    examples: examples.map((example) => ({ payload: wrap(example as JsonObject) })),
    'x-socket-io': socketIo,
  };
}

/** Returns the schema with `type`, and an optional `id`, in each of its alternatives. */
function withType(schema: JsonObject, type: string, hasId: boolean): JsonObject {
  const alternatives = schema['anyOf'] as JsonObject[] | undefined;
  if (alternatives) return { anyOf: alternatives.map((one) => withType(one, type, hasId)) };
  const { description: _, examples: __, properties, required = [], ...rest } = schema;
  const id = { type: 'string', maxLength: MAX_MESSAGE_ID_LENGTH, description: 'Returned in the response' };
  return {
    ...rest,
    properties: {
      type: { type: 'string', const: type },
      ...(hasId ? { id } : {}),
      ...(properties as JsonObject),
    },
    required: ['type', ...(required as string[])],
  };
}

/** Returns an object with the same keys and changed values. */
export function mapValues<const From extends Record<string, unknown>, To>(
  from: From,
  change: (value: From[keyof From], name: string) => To,
): Record<keyof From & string, To> {
  const entries = Object.entries(from).map(([name, value]) => [
    name,
    change(value as From[keyof From], name),
  ]);
  return Object.fromEntries(entries);
}
