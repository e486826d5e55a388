import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { startNotifications } from '../../src/database/common/notifications.ts';
import type { ChannelMetrics } from '../../src/domain/channel/channel.ts';
import { type ChannelDependencies, createChannel } from '../../src/gateway/channel.ts';
import { createTokens } from '../../src/security/tokens.ts';
import type { World } from '../support/world.ts';

/** `sockets` counts the open TCP connections. */
type OwnChannel = {
  url: string;
  server: Server;
  numbers(): ChannelMetrics;
  sockets(): Promise<number>;
  close(): Promise<void>;
};

/** Starts a second channel on the database of a world, with other times than the real one. */
export async function startOwnChannel(
  world: World,
  times: Pick<ChannelDependencies, 'stallMs' | 'closeTimeoutMs' | 'renewalMs' | 'handshakeMs'>,
): Promise<OwnChannel> {
  const { configuration, database } = world;
  const clock = () => new Date();
  const log = pino({ level: 'silent' });
  const notifications = await startNotifications(configuration.databaseUrl, log);
  const channel = createChannel({
    database,
    notifications,
    tokens: createTokens(configuration.tokenKeys, null, clock),
    askWorkflow: async () => null,
    limits: configuration.channelConnections,
    handshakes: configuration.channelHandshakes,
    addressOf: ({ socket }) => socket.remoteAddress ?? '',
    clock,
    log,
    ...times,
  });
  const server = createServer((request, response) => channel.handleRequest(request, response));
  server.on('upgrade', channel.handleUpgrade);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    numbers: channel.statistics,
    sockets: promisify(server.getConnections.bind(server)),
    async close() {
      await channel.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await notifications.close();
    },
  };
}
