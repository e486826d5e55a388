import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import type { Notifications } from '../database/common/notifications.ts';
import { CHANNEL_PATH, type ChannelMetrics } from '../domain/channel/channel.ts';
import type { RunView } from '../domain/tasks/task-run.ts';
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

/** What the channel works with; made at a root. */
export type ChannelDependencies = {
  database: Database;
  notifications: Notifications;
  tokens: Tokens;
  /** The workflow's own answer; null where there is none in time. */
  askWorkflow(executionId: string): Promise<RunView | null>;
  limits: ConnectionLimits;
  clock: () => Date;
  log: Logger;
  /** After how many milliseconds a viewer is dropped that takes nothing. */
  stallMs?: number;
  /** How long a plain client that was told to go may take to read that, in milliseconds. */
  closeTimeoutMs?: number;
  /** How often a listener gives a sign, in milliseconds. */
  renewalMs?: number;
};

/** The live channel of one process. */
export type Channel = {
  /** True for what belongs to the channel: then {@link Channel.handleRequest} answers it. */
  isFor(request: IncomingMessage): boolean;
  handleRequest(request: IncomingMessage, response: ServerResponse): void;
  /** Answers every upgrade, those of other paths with 404. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  statistics(): ChannelMetrics;
  /** Tells all clients to come again, and ends. */
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

/** Socket.IO's clients name the revision of Engine.IO in every address. */
function speaksSocketIo({ url = '' }: IncomingMessage): boolean {
  return new URL(url, 'http://channel').searchParams.has('EIO');
}
