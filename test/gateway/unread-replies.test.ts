import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { WebSocket } from 'ws';
import { MAX_CHANNEL_CONNECTS } from '../../src/domain/common/limits.ts';
import { useWorld } from '../support/world.ts';

/** A WebSocket frame with a masked ping of 100 bytes (RFC 6455, section 5.2); the mask is zero. */
const PING = Buffer.concat([Buffer.from([0x89, 0x80 | 100, 0, 0, 0, 0]), Buffer.alloc(100)]);
const MANY_PINGS = Buffer.concat(Array.from({ length: 1_000 }, () => PING));

/** A client that does not read the replies of Socket.IO itself must not fill the memory. Such replies are no messages. */
describe('a Socket.IO connection is closed', () => {
  const world = useWorld();
  const query = (more = '') => `/ws?EIO=4&transport=websocket${more}`;
  const open = async (path: string) => {
    const socket = new WebSocket(`${world.api.url.replace('http', 'ws')}${path}`);
    await once(socket, 'open');
    return socket;
  };

  /** Sends a packet more often than allowed, and returns how many replies with this beginning arrive until the close. */
  const countReplies = async (socket: WebSocket, packet: string, reply: string) => {
    let replies = 0;
    socket.on('message', (data: Buffer) => {
      if (data.toString().startsWith(reply)) replies += 1;
    });
    for (let count = 0; count < 3 * MAX_CHANNEL_CONNECTS; count += 1) socket.send(packet);
    await once(socket, 'close');
    return replies;
  };

  it('after too many requests to connect to a namespace, authenticated or not', async () => {
    const { token } = (await world.send('POST', '/api/v1/tokens')).json;
    for (const credentials of ['', `&token=${token}`]) {
      const socket = await open(query(credentials));
      if (credentials !== '') socket.send('40');
      assert.ok((await countReplies(socket, '40/other,', '44/other')) <= MAX_CHANNEL_CONNECTS + 1);
    }
  });

  it('after too many requests to upgrade', async () => {
    const begun = await fetch(`${world.api.url}/ws?EIO=4&transport=polling`);
    const { sid } = JSON.parse((await begun.text()).slice(1));
    const socket = await open(query(`&sid=${sid}`));
    assert.ok((await countReplies(socket, '2probe', '3probe')) <= MAX_CHANNEL_CONNECTS + 1);
  });

  it('after too many pings whose answers are not read', async () => {
    const { hostname, port } = new URL(world.api.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    socket.write(
      `GET ${query()} HTTP/1.1\r\nHost: ${hostname}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n',
    );
    await once(socket, 'readable');
    await writeUntilClosed(socket, MANY_PINGS);
  });
});

/** Writes as fast as the other side reads, until the connection is closed. */
async function writeUntilClosed(socket: Socket, data: Buffer): Promise<void> {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  socket.on('close', resolve);
  while (!socket.destroyed) {
    const { promise: drained, resolve: resume } = Promise.withResolvers<void>();
    if (!socket.write(data)) {
      socket.once('drain', resume);
      await Promise.race([drained, closed]);
    }
  }
}
