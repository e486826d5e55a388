import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { Server as Engine } from 'engine.io';
import { Server, type Socket } from 'socket.io';
import { CHANNEL_CODES, type ChannelCode } from '../domain/channel/channel.ts';
import { MAX_CHANNEL_MESSAGE_BYTES } from '../domain/common/limits.ts';
import { tokenOf } from './admission.ts';
import type { Connection } from './connection.ts';
import type { Clients } from './clients.ts';
import { Message } from './message.ts';
import { Pending } from './pending.ts';

/** The transport for Socket.IO (protocol 5 over Engine.IO 4), by long polling or WebSocket. */
export type SocketIoTransport = {
  handleRequest(request: IncomingMessage, response: ServerResponse): void;
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  close(): Promise<void>;
};

/** A client that does not join a namespace within this time is disconnected, in milliseconds. */
const CONNECT_TIMEOUT_MS = 10_000;
/** A client that does not close after a goodbye is disconnected after this time, in milliseconds. */
const CLOSE_TIMEOUT_MS = 2_000;
/** How long a rejected client may read the reason, in milliseconds. */
const REFUSAL_READ_MS = 500;

export function createSocketIoTransport(clients: Clients): SocketIoTransport {
  const io = new Server({ connectTimeout: CONNECT_TIMEOUT_MS, serveClient: false });
  const engine = new Engine({
    maxHttpBufferSize: MAX_CHANNEL_MESSAGE_BYTES,
    // Clients authenticate with a token that browsers do not send by themselves, so any origin is allowed.
    cors: { origin: '*' },
    perMessageDeflate: false,
  });
  io.bind(engine);
  async function authenticate(socket: Socket, next: (error?: Error) => void): Promise<void> {
    const offered: unknown = socket.handshake.auth['token'];
    const token = tokenOf(socket.request) ?? (typeof offered === 'string' ? offered : null);
    const admitted = await clients.admit(token);
    if (admitted.ok) {
      // A client that has already disconnected never gets the connection event, so the place is released here.
      if (socket.conn.readyState !== 'open') return admitted.release();
      socket.conn.once('close', admitted.release);
      socket.data = admitted;
      return next();
    }
    next(Object.assign(new Error(admitted.code), { data: describeCode(admitted.code) }));
    // The rejection was sent; the client sends nothing more.
    setTimeout(() => socket.conn.close(), REFUSAL_READ_MS).unref();
  }
  io.use((socket, next) => void authenticate(socket, next));
  io.on('connection', (socket) => {
    const session = clients.enter(connectionOf(socket), socket.data);
    socket.on('disconnect', () => clients.leave(session));
    socket.onAny((name: unknown, ...given: unknown[]) => {
      const acknowledge = given.at(-1);
      // The protocol allows numbers as names.
      const type = typeof name === 'string' ? name : '';
      session.receive(type, given[0], ({ replyType, reply }) => {
        if (typeof acknowledge === 'function') acknowledge(reply);
        else socket.emit(reply.ok ? replyType : 'refused', reply);
      });
    });
  });
  return {
    handleRequest: (request, response) => engine.handleRequest(request, response),
    handleUpgrade: (request, socket, head) => engine.handleUpgrade(request, socket, head),
    async close() {
      await io.close();
    },
  };
}

function connectionOf(socket: Socket): Connection {
  const pending = countedWrites(socket.conn);
  return {
    id: socket.id,
    send(message) {
      // Bypasses Socket.IO's encoder: a packet is encoded once for all clients.
      socket.conn.write(message.socketIo, { compress: false });
    },
    pendingBytes: () => pending.bytes,
    onceDrained: (listener) => pending.onceDrained(listener),
    close(code) {
      if (!socket.connected) return;
      this.send(Message.of('closed', describeCode(code)));
      const { transport } = socket.conn;
      socket.disconnect(true);
      if (code === 'slow_reader') socket.conn.close(true);
      // A client that reads nothing does not read the close either and would keep its connection for long.
      setTimeout(() => terminate(transport), CLOSE_TIMEOUT_MS).unref();
    },
  };
}

/**
 * Counts all written bytes, replies as well as events: a client that sends without reading must not fill the memory.
 */
function countedWrites(conn: Socket['conn']): Pending {
  const pending = new Pending();
  const write = conn.write.bind(conn);
  conn.write = (data, options, callback) => {
    const taken = pending.add(typeof data === 'string' ? Buffer.byteLength(data) : data.byteLength);
    return write(data, options, (transport) => {
      taken();
      callback?.(transport);
    });
  };
  return pending;
}

/** Terminates the WebSocket of a transport, if there is one. */
function terminate(transport: object): void {
  const { socket } = transport as { socket?: { terminate?: () => void } };
  socket?.terminate?.();
}

function describeCode(code: ChannelCode): { code: ChannelCode; message: string } {
  return { code, message: CHANNEL_CODES[code] };
}
