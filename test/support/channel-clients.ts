import { io, type ManagerOptions, type SocketOptions } from 'socket.io-client';
import { WebSocket as WebSocketOfWs } from 'ws';
import { CHANNEL_PATH } from '../../src/domain/channel/channel.ts';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import { beginFollowing, plainAddress, joinMessage, type ChannelClient, type Joined } from './following.ts';

// @ts-expect-error -- the package has no types for modules; it has the interface of the newest version
const { io: ioOfVersion3 } = (await import('socket.io-client-3')) as { io: typeof io };

/** The clients that run in this process. Clients of other runtimes have separate files. */
export const NODE_CLIENTS: readonly ChannelClient[] = [
  socketIoClient('socket.io-client 4.8, websocket', { transports: ['websocket'] }),
  socketIoClient('socket.io-client 4.8, polling, then websocket', {}),
  socketIoClient('socket.io-client 4.8, polling alone', { transports: ['polling'] }),
  socketIoClient('socket.io-client 3.1.3, polling, then websocket', {}, ioOfVersion3),
  plainClient("Node's WebSocket", (address) => new WebSocket(address)),
  plainClient('ws', (address) => new WebSocketOfWs(address)),
];

type JoinAnswer = ({ ok: true } & Joined) | { ok: false; code: string };
type ConnectError = Error & { data?: { code?: string } };

/** Opens a Socket.IO connection to the gateway at `url`, without reconnection. */
export function connectSocketIo(
  url: string,
  token: string | null,
  options: Partial<ManagerOptions & SocketOptions> = {},
  connect: typeof io = io,
) {
  const query = token === null ? {} : { token };
  return connect(url, { path: CHANNEL_PATH, query, forceNew: true, reconnection: false, ...options });
}

function socketIoClient(
  name: string,
  options: Partial<ManagerOptions & SocketOptions>,
  connect?: typeof io,
): ChannelClient {
  return {
    name,
    async follow(url, token, executionId, { after, onEvent } = {}) {
      const following = beginFollowing(onEvent);
      let code: string | null = null;
      const socket = connectSocketIo(url, token, options, connect);
      socket.on('connect_error', ({ data, message }: ConnectError) => {
        if (data?.code === undefined) following.failed(message);
        else following.refused(data.code);
      });
      socket.on('event', following.event);
      socket.on('closed', (last: { code: string }) => (code = last.code));
      socket.on('disconnect', () => following.ended(code));
      socket.on('connect', () => {
        socket.emit('join', joinMessage(executionId, after), (answer: JoinAnswer) => {
          if (answer.ok) following.joined(answer);
          else following.refused(answer.code);
        });
      });
      return await following.follow(name, () => void socket.disconnect());
    },
  };
}

type PlainMessage =
  | { type: 'event'; event: FeedEvent }
  | ({ type: 'joined' } & Joined)
  | { type: 'refused' | 'closed'; code: string };

function plainClient(name: string, open: (address: string) => WebSocket | WebSocketOfWs): ChannelClient {
  return {
    name,
    async follow(url, token, executionId, { after, onEvent } = {}) {
      const following = beginFollowing(onEvent);
      let code: string | null = null;
      const socket = open(plainAddress(url, token)) as WebSocket;
      socket.addEventListener('open', () => {
        socket.send(JSON.stringify({ type: 'join', ...joinMessage(executionId, after) }));
      });
      socket.addEventListener('error', () => following.failed('the WebSocket failed'));
      socket.addEventListener('close', ({ reason }) => following.ended(code ?? (reason || null)));
      socket.addEventListener('message', ({ data }) => {
        const message = JSON.parse(String(data)) as PlainMessage;
        if (message.type === 'event') following.event(message.event);
        else if (message.type === 'joined') following.joined(message);
        else if (message.type === 'refused') following.refused(message.code);
        else code = message.code;
      });
      return await following.follow(name, () => socket.close());
    },
  };
}
