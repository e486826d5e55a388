import { CHANNEL_CODES, CHANNEL_PATH } from '../../domain/channel/channel.ts';
import {
  repliesToClient,
  componentSchemas,
  eventsOf,
  mapValues,
  messagesFromClient,
  pushedToClient,
  type JsonObject,
} from './asyncapi-messages.ts';
import { CHANNEL_LIMITS, CLIENT_MESSAGES, PUSHED, ROOM_EVENTS } from './channel-vocabulary.ts';

export type ChannelDocument = ReturnType<typeof channelDocument>;

/**
 * Returns the AsyncAPI 3.0 document of the live channel, generated from the schemas that validate its messages.
 * Payloads are those of plain WebSockets; each message describes its form for Socket.IO clients.
 */
export function channelDocument(baseUrl: string) {
  const { host, protocol } = new URL(baseUrl);
  const schemas = componentSchemas();
  const fromClient = messagesFromClient(schemas);
  const fromService = { ...repliesToClient(schemas), ...pushedToClient(schemas) };
  const server = {
    host,
    pathname: CHANNEL_PATH,
    security: [
      { $ref: '#/components/securitySchemes/token' },
      { $ref: '#/components/securitySchemes/bearer' },
    ],
  };
  const secure = protocol === 'https:';
  const events = {
    workflow: eventsOf('workflow', schemas),
    webhook: eventsOf('webhook', schemas),
  };
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Baton live channel',
      version: '1',
      description:
        'Live events of runs and webhook deliveries. The same address accepts plain WebSocket and Socket.IO.',
    },
    defaultContentType: 'application/json',
    servers: {
      websocket: {
        ...server,
        protocol: secure ? 'wss' : 'ws',
        description: 'Plain WebSocket: each message is one JSON object with a `type`.',
      },
      socketio: {
        ...server,
        protocol: 'socket.io',
        protocolVersion: '5',
        description:
          'Socket.IO 4 (Engine.IO 4, `EIO=4`), by WebSocket or long polling: each message is an event of that name.',
      },
    },
    channels: {
      connection: {
        address: CHANNEL_PATH,
        title: 'The connection',
        description: 'Messages between a client and the service, outside of room events.',
        messages: refsTo({ ...fromClient, ...fromService }),
        bindings: { ws: wsBinding() },
      },
      workflow: {
        address: 'workflow:{execution_id}',
        title: "A run's room",
        description:
          'A snapshot, then every event of the run exactly once, in the order of `seq`. With `after`, starting after that `seq`.',
        parameters: { execution_id: { description: '`execution_id` of the run' } },
        messages: refsTo(events.workflow),
      },
      webhook: {
        address: 'webhook:{id}',
        title: "A webhook's room",
        description:
          'A snapshot, then the latest state of each changed delivery, in any order, at least once. Events are not numbered and not replayed.',
        parameters: { id: { description: '`id` of the webhook; requires the scope `webhooks:read`' } },
        messages: refsTo(events.webhook),
      },
    },
    operations: operations(),
    components: {
      schemas,
      messages: { ...fromClient, ...fromService, ...events.workflow, ...events.webhook },
      securitySchemes: {
        token: {
          type: 'httpApiKey',
          in: 'query',
          name: 'token',
          description: 'A JWT from `POST /api/v1/tokens`, for one project',
        },
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      },
    },
    'x-codes': CHANNEL_CODES,
    'x-limits': CHANNEL_LIMITS,
  };
}

/** Returns the operations of the service: it receives client messages and sends all others. */
function operations(): Record<string, JsonObject> {
  const on = (channel: string, name: string) => ({ $ref: `#/channels/${channel}/messages/${pointer(name)}` });
  const channel = { $ref: '#/channels/connection' };
  const receives = mapValues(CLIENT_MESSAGES, ({ replyType }, name) => ({
    action: 'receive',
    channel,
    messages: [on('connection', name)],
    reply: { channel, messages: [on('connection', replyType), on('connection', 'refused')] },
  }));
  const pushes = {
    action: 'send',
    channel,
    messages: Object.keys(PUSHED).map((name) => on('connection', name)),
  };
  const roomEvents = mapValues(ROOM_EVENTS, (events, kind) => ({
    action: 'send',
    channel: { $ref: `#/channels/${kind}` },
    messages: Object.keys(events).map((name) => on(kind, name)),
  }));
  return {
    ...receives,
    push: pushes,
    send_workflow_events: roomEvents.workflow,
    send_webhook_events: roomEvents.webhook,
  };
}

/** Returns the binding `ws`, which describes how to open the connection. */
function wsBinding(): JsonObject {
  const token = { type: 'string', description: 'The JWT; alternatively `Authorization: Bearer`' };
  const eio = {
    type: 'string',
    enum: ['4'],
    description: 'Only for Socket.IO clients, which set it themselves',
  };
  return {
    method: 'GET',
    query: { type: 'object', properties: { token, EIO: eio } },
    bindingVersion: '0.1.0',
  };
}

function refsTo(messages: Record<string, unknown>): Record<string, { $ref: string }> {
  return mapValues(messages, (_, name) => ({ $ref: `#/components/messages/${pointer(name)}` }));
}

/** Escapes a name for a JSON Pointer (RFC 6901). */
function pointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
