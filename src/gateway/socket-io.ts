import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { Server as Engine } from 'engine.io';
import { Server, type Socket } from 'socket.io';
import { WebSocketServer } from 'ws';
import { CHANNEL_CODES, type ChannelCode } from '../domain/channel/channel.ts';
import { HANDSHAKE_MS, MAX_CHANNEL_CONNECTS, MAX_CHANNEL_MESSAGE_BYTES } from '../domain/common/limits.ts';
import { tokenOf } from './admission.ts';
import type { Connection } from './connection.ts';
import type { Clients } from './clients.ts';
import { Message } from './message.ts';
import { Pending } from './pending.ts';

/** The transport for Socket.IO (protocol 5 over Engine.IO 4), by long polling or WebSocket. */
export type SocketIoTransport = {
  /** `endHandshake` is called once the connection has authenticated or is closed. */
  handleRequest(request: IncomingMessage, response: ServerResponse, endHandshake: () => void): void;
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, endHandshake: () => void): void;
  close(): Promise<void>;
};

/** The type of a packet that requests to connect (Socket.IO protocol 5). */
const CONNECT = '0';
/** A client that does not close after a goodbye is disconnected after this time, in milliseconds. */
const CLOSE_TIMEOUT_MS = 2_000;
/** How long a rejected client may read the reason, in milliseconds. */
const REFUSAL_READ_MS = 500;

/** `handshakeMs`: after this time, a client that has not authenticated is disconnected. */
export function createSocketIoTransport(clients: Clients, handshakeMs = HANDSHAKE_MS): SocketIoTransport {
  const io = new Server({ serveClient: false });
  const engine = new Engine({
    maxHttpBufferSize: MAX_CHANNEL_MESSAGE_BYTES,
    // Clients authenticate with a token that browsers do not send by themselves, so any origin is allowed.
    cors: { origin: '*' },
    perMessageDeflate: false,
    // Engine.IO's own version of this package stores any number of pongs for a client that does not read them.
    wsEngine: WebSocketServer,
  });
  io.bind(engine);
  const handshakes = createHandshakes(handshakeMs);
  engine.on('connection', handshakes.connected);
  engine.on('connection', limitReplies);
  const authenticating = new WeakSet<Socket['conn']>();
  async function authenticate(socket: Socket, next: (error?: Error) => void): Promise<void> {
    const offered: unknown = socket.handshake.auth['token'];
    const token = tokenOf(socket.request) ?? (typeof offered === 'string' ? offered : null);
    // Clients wait for the result. Many attempts at once would be many reads of the database for one handshake.
    if (authenticating.has(socket.conn)) return socket.conn.close(true);
    authenticating.add(socket.conn);
    const admitted = await clients.admit(token);
    authenticating.delete(socket.conn);
    if (admitted.ok) {
      // A client that has already disconnected never gets the connection event, so the place is released here.
      if (socket.conn.readyState !== 'open') return admitted.release();
      socket.conn.once('close', admitted.release);
      handshakes.authenticated(socket.conn);
      socket.data = admitted;
      return next();
    }
    next(Object.assign(new Error(admitted.code), { data: describeCode(admitted.code) }));
    // The rejection was sent; the client sends nothing more.
    setTimeout(() => socket.conn.close(), REFUSAL_READ_MS).unref();
  }
  io.use((socket, next) => void authenticate(socket, next));
  io.on('connection', (socket) => {
    const client = clients.enter(connectionOf(socket), socket.data);
    socket.on('disconnect', (reason) => {
      clients.leave(client);
      // Otherwise the client would keep a connection that no limit counts.
      if (reason === 'client namespace disconnect') socket.conn.close(true);
    });
    socket.onAny((name: unknown, ...given: unknown[]) => {
      const acknowledge = given.at(-1);
      // The protocol allows numbers as names.
      const type = typeof name === 'string' ? name : '';
      client.receive(type, given[0], ({ replyType, reply }) => {
        if (typeof acknowledge === 'function') acknowledge(reply);
        else socket.emit(reply.ok ? replyType : 'refused', reply);
      });
    });
  });
  return {
    handleRequest(request, response, endHandshake) {
      handshakes.begin(request, response, endHandshake);
      engine.handleRequest(request, response);
    },
    handleUpgrade(request, socket, head, endHandshake) {
      handshakes.begin(request, socket, endHandshake);
      engine.handleUpgrade(request, socket, head);
    },
    async close() {
      await io.close();
    },
  };
}

/** Follows each handshake from its request to the connection that the request creates, and ends it once. */
function createHandshakes(limitMs: number) {
  const begun = new WeakMap<IncomingMessage, () => void>();
  const open = new WeakMap<object, () => void>();
  return {
    begin(request: IncomingMessage, carrier: ServerResponse | Duplex, end: () => void): void {
      begun.set(request, end);
      // Without a connection, for example because the request is not valid.
      carrier.once('close', () => {
        if (begun.delete(request)) end();
      });
    },
    connected(conn: Socket['conn']): void {
      const { request } = conn;
      const end = begun.get(request);
      begun.delete(request);
      // Discards what waits for the client: one that does not poll would not close.
      const timer = setTimeout(() => conn.close(true), limitMs).unref();
      const finish = () => {
        clearTimeout(timer);
        end?.();
      };
      open.set(conn, finish);
      conn.once('close', finish);
    },
    authenticated(conn: Socket['conn']): void {
      open.get(conn)?.();
    },
  };
}

/**
 * Terminates a connection with too many requests to connect, or to upgrade to a WebSocket. Socket.IO replies to each of them,
 * also before the client has authenticated, and stores the replies for a client that does not read them.
 */
function limitReplies(conn: Socket['conn']): void {
  let replies = 0;
  const isTooMany = () => (replies += 1) > MAX_CHANNEL_CONNECTS;
  conn.on('data', (packet: unknown) => {
    if (typeof packet !== 'string' || !packet.startsWith(CONNECT) || !isTooMany()) return;
    const { transport } = conn;
    conn.close(true);
    terminate(transport);
  });
  // Only the new transport: Engine.IO starts a timer after this event, which the end of the transport clears.
  conn.on('upgrading', (transport: object) => {
    if (isTooMany()) terminate(transport);
  });
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
