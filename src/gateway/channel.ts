import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import type { Notifications } from '../database/common/notifications.ts';
import { CHANNEL_PATH, type ChannelMetrics } from '../domain/channel/channel.ts';
import type { RunView } from '../domain/tasks/run-schemas.ts';
import { requestIdOf } from '../security/request-id.ts';
import type { Tokens } from '../security/tokens.ts';
import { createAdmissionControl, type ConnectionLimits } from './admission.ts';
import { createClients } from './clients.ts';
import { limitHandshakes, type HandshakeLimits } from './handshakes.ts';
import { createListening } from './listening.ts';
import { createMetricsRecorder } from './metrics.ts';
import { createPlainTransport, refuseRequest, refuseUpgrade } from './plain.ts';
import { createRunFeeds } from './run-feeds.ts';
import { createRunRooms } from './run-rooms.ts';
import { createSocketIoTransport } from './socket-io.ts';
import { createWebhookRooms } from './webhook-rooms.ts';

/** The dependencies of the channel, created by an entry point. */
export type ChannelDependencies = {
  database: Database;
  notifications: Notifications;
  tokens: Tokens;
  /** Queries the workflow; null if it does not respond in time. */
  askWorkflow(executionId: string): Promise<RunView | null>;
  limits: ConnectionLimits;
  handshakes: HandshakeLimits;
  /** Returns the address of the client of a request. */
  addressOf(request: IncomingMessage): string;
  clock: () => Date;
  log: Logger;
  /** After this time in milliseconds, a client that receives nothing is disconnected. */
  stallMs?: number;
  /** How long a plain client may take to read the reason of a close, in milliseconds. */
  closeTimeoutMs?: number;
  /** After this time in milliseconds, a Socket.IO client that has not authenticated is disconnected. */
  handshakeMs?: number;
  /** How often a listener is renewed, in milliseconds. */
  renewalMs?: number;
};

/** The live channel of one process. */
export type Channel = {
  /** Returns true for requests of the channel, which {@link Channel.handleRequest} answers. */
  isFor(request: IncomingMessage): boolean;
  handleRequest(request: IncomingMessage, response: ServerResponse): void;
  /** Handles all upgrades; other paths get 404. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  statistics(): ChannelMetrics;
  /** Asks all clients to reconnect, and closes. */
  close(): Promise<void>;
};

export function createChannel(deps: ChannelDependencies): Channel {
  const { notifications, clock, log } = deps;
  const metrics = createMetricsRecorder(clock);
  const admission = createAdmissionControl({
    ...deps,
    onError: (error) => log.warn({ err: error }, 'checking a token failed'),
  });
  const feeds = createRunFeeds({ ...deps, metrics });
  const rooms = {
    workflow: createRunRooms({ ...deps, feeds }),
    webhook: createWebhookRooms({ ...deps, metrics }),
  };
  const listening = createListening(deps);
  const clients = createClients(
    { ...deps, admission, rooms, handlers: listening.handlers },
    { notifications, metrics },
  );
  const begin = limitHandshakes({
    limits: deps.handshakes,
    addressOf: deps.addressOf,
    isSigned: admission.isSigned,
  });
  const socketIo = createSocketIoTransport(clients, deps.handshakeMs);
  const plain = createPlainTransport(clients, deps.closeTimeoutMs);
  let isClosing = false;

  async function beginRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const end = hasSession(request) ? () => {} : await begin(request);
    if (end) return socketIo.handleRequest(request, response, end);
    metrics.dropped('too_many_handshakes');
    refuseRequest(request, response, 'too_many_handshakes');
  }

  async function beginUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy());
    const isSocketIo = speaksSocketIo(request);
    const end = isSocketIo && hasSession(request) ? () => {} : await begin(request);
    if (!end) {
      metrics.dropped('too_many_handshakes');
      refuseUpgrade(request, socket, 'too_many_handshakes');
    } else if (isSocketIo) {
      socketIo.handleUpgrade(request, socket, head, end);
    } else {
      await plain.handleUpgrade(request, socket, head).finally(end);
    }
  }

  return {
    isFor: ({ url }) => isChannelUrl(url),
    handleRequest(request, response) {
      if (speaksSocketIo(request)) return void beginRequest(request, response);
      const requestId = requestIdOf(request.headers['x-request-id']);
      response.writeHead(426, {
        Upgrade: 'websocket',
        Connection: 'Upgrade',
        'Content-Type': 'application/problem+json',
        'X-Request-Id': requestId,
      });
      response.end(
        JSON.stringify({
          title: 'Upgrade Required',
          status: 426,
          detail: 'This address accepts only WebSocket and Socket.IO.',
          instance: CHANNEL_PATH,
          code: 'upgrade_required',
          request_id: requestId,
        }),
      );
    },
    handleUpgrade(request, socket, head) {
      if (!isChannelUrl(request.url)) {
        socket.on('error', () => socket.destroy());
        socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      } else if (isClosing) refuseUpgrade(request, socket, 'server_stopping', 503);
      else void beginUpgrade(request, socket, head);
    },
    statistics: () => metrics.read({ workflow: rooms.workflow.count(), webhook: rooms.webhook.count() }),
    async close() {
      isClosing = true;
      clients.closeAll('server_stopping');
      await Promise.all([socketIo.close(), plain.close()]);
      for (const room of Object.values(rooms)) room.close();
      await listening.close();
    },
  };
}

function isChannelUrl(url = ''): boolean {
  const [path] = url.split('?', 1);
  return path === CHANNEL_PATH || path === `${CHANNEL_PATH}/`;
}

/** Socket.IO clients send the revision of Engine.IO in each URL. */
function speaksSocketIo(request: IncomingMessage): boolean {
  return parametersOf(request).has('EIO');
}

/**
 * Returns whether a request of Socket.IO belongs to a session that exists or existed. As in Engine.IO, the last `sid` counts,
 * and an empty one begins a session.
 */
function hasSession(request: IncomingMessage): boolean {
  return Boolean(parametersOf(request).getAll('sid').at(-1));
}

function parametersOf({ url = '' }: IncomingMessage): URLSearchParams {
  return new URL(url, 'http://channel').searchParams;
}
