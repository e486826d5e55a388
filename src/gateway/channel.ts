import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import type { Notifications } from '../database/common/notifications.ts';
import { CHANNEL_PATH, type ChannelMetrics } from '../domain/channel/channel.ts';
import type { RunView } from '../domain/tasks/run-schemas.ts';
import type { Tokens } from '../security/tokens.ts';
import { createAdmissionControl, type ConnectionLimits } from './admission.ts';
import { createClients } from './clients.ts';
import { createListening } from './listening.ts';
import { createMetricsRecorder } from './metrics.ts';
import { createPlainTransport, refuseUpgrade } from './plain.ts';
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
  clock: () => Date;
  log: Logger;
  /** After this time in milliseconds, a client that receives nothing is disconnected. */
  stallMs?: number;
  /** How long a plain client may take to read the reason of a close, in milliseconds. */
  closeTimeoutMs?: number;
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
  const socketIo = createSocketIoTransport(clients);
  const plain = createPlainTransport(clients);
  let isClosing = false;

  return {
    isFor: ({ url }) => isChannelUrl(url),
    handleRequest(request, response) {
      if (speaksSocketIo(request)) return socketIo.handleRequest(request, response);
      const detail = 'This address accepts only WebSocket and Socket.IO.';
      response.writeHead(426, {
        Upgrade: 'websocket',
        Connection: 'Upgrade',
        'Content-Type': 'application/problem+json',
      });
      response.end(
        JSON.stringify({ title: 'Upgrade Required', status: 426, detail, code: 'upgrade_required' }),
      );
    },
    handleUpgrade(request, socket, head) {
      if (!isChannelUrl(request.url)) {
        socket.on('error', () => socket.destroy());
        socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      } else if (isClosing) refuseUpgrade(socket, 'server_stopping', 503);
      else if (speaksSocketIo(request)) socketIo.handleUpgrade(request, socket, head);
      else void plain.handleUpgrade(request, socket, head);
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
function speaksSocketIo({ url = '' }: IncomingMessage): boolean {
  return new URL(url, 'http://channel').searchParams.has('EIO');
}
