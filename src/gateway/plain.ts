import { randomUUID } from 'node:crypto';
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type RawData, type WebSocket } from 'ws';
import { CHANNEL_CODES, CHANNEL_PATH, type ChannelCode } from '../domain/channel/channel.ts';
import { MAX_CHANNEL_MESSAGE_BYTES, MAX_MESSAGE_ID_LENGTH } from '../domain/common/limits.ts';
import { requestIdOf } from '../security/request-id.ts';
import { tokenOf } from './admission.ts';
import type { Clients } from './clients.ts';
import type { Connection } from './connection.ts';
import { Message } from './message.ts';
import { Pending } from './pending.ts';

/** The transport for JSON over a plain WebSocket. */
export type PlainTransport = {
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
  close(): Promise<void>;
};

/** Interval of pings, in milliseconds. A client that does not respond before the next ping is disconnected. */
const HEARTBEAT_MS = 25_000;
/** A client that does not answer the close frame is disconnected after this time, in milliseconds. */
const CLOSE_TIMEOUT_MS = 2_000;

/** HTTP statuses of rejected connections, and WebSocket codes (RFC 6455, section 7.4.1) of closed ones. */
const REFUSED_STATUS: Partial<Record<ChannelCode, number>> = {
  too_many_connections: 429,
  too_many_handshakes: 429,
  unavailable: 503,
};
const POLICY_VIOLATION = 1008;
const CLOSE_CODES: Partial<Record<ChannelCode, number>> = {
  server_stopping: 1012,
  unavailable: 1013,
  slow_reader: 1013,
};

/** Calls a function at each heartbeat until the returned function is called. */
export type Heartbeats = (beat: () => void) => () => void;

function everyInterval(beat: () => void): () => void {
  const interval = setInterval(beat, HEARTBEAT_MS).unref();
  return () => clearInterval(interval);
}

/** `closeTimeoutMs`: how long a client may take to read the reason of a close. */
export function createPlainTransport(
  clients: Clients,
  closeTimeoutMs = CLOSE_TIMEOUT_MS,
  heartbeats: Heartbeats = everyInterval,
): PlainTransport {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_CHANNEL_MESSAGE_BYTES,
    perMessageDeflate: false,
  });
  const quiet = new WeakSet<WebSocket>();
  const stopHeartbeats = heartbeats(() => {
    for (const socket of server.clients) {
      if (quiet.has(socket)) socket.terminate();
      else {
        quiet.add(socket);
        socket.ping();
      }
    }
  });

  return {
    async handleUpgrade(request, socket, head) {
      socket.on('error', () => socket.destroy());
      const admitted = await clients.admit(tokenOf(request));
      if (!admitted.ok) return refuseUpgrade(request, socket, admitted.code);
      if (socket.destroyed) return admitted.release();
      let isUp = false;
      socket.once('close', () => {
        if (!isUp) admitted.release();
      });
      server.handleUpgrade(request, socket, head, (websocket) => {
        isUp = true;
        const pending = new Pending();
        const client = clients.enter(connectionOf(websocket, pending, closeTimeoutMs), admitted);
        websocket.on('error', () => websocket.terminate());
        websocket.on('close', () => clients.leave(client));
        websocket.on('pong', () => quiet.delete(websocket));
        websocket.on('message', (data, isBinary) => {
          quiet.delete(websocket);
          const { type, id, body } = isBinary ? INVALID_MESSAGE : parseMessage(data);
          client.receive(type, body, ({ replyType, reply: { ok, ...reply } }) => {
            const own = id === undefined ? {} : { id };
            const text = Buffer.from(JSON.stringify({ type: ok ? replyType : 'refused', ...own, ...reply }));
            websocket.send(text, { binary: false }, pending.add(text.length));
          });
        });
      });
    },
    async close() {
      stopHeartbeats();
      for (const socket of server.clients) setTimeout(() => socket.terminate(), closeTimeoutMs).unref();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function connectionOf(websocket: WebSocket, pending: Pending, closeTimeoutMs: number): Connection {
  return {
    id: randomUUID(),
    send(message) {
      if (websocket.readyState !== websocket.OPEN) return;
      const { plainBytes } = message;
      websocket.send(plainBytes, { binary: false }, pending.add(plainBytes.length));
    },
    pendingBytes: () => pending.bytes,
    onceDrained: (listener) => pending.onceDrained(listener),
    close(code) {
      if (websocket.readyState !== websocket.OPEN) return;
      this.send(Message.of('closed', { code, message: CHANNEL_CODES[code] }));
      websocket.close(CLOSE_CODES[code] ?? POLICY_VIOLATION, code);
      // A client that reads nothing does not read the close frame either.
      setTimeout(() => websocket.terminate(), closeTimeoutMs).unref();
    },
  };
}

type ParsedMessage = { type: string; id?: string; body: unknown };

/** A message that is not a JSON object with a type. It is rejected, and counted like any other. */
const INVALID_MESSAGE: ParsedMessage = { type: '', body: null };

/** Returns a message's type, its id, which the reply repeats, and the other fields. */
function parseMessage(data: RawData): ParsedMessage {
  try {
    const parsed: unknown = JSON.parse((data as Buffer).toString('utf8'));
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return INVALID_MESSAGE;
    const { type, ...rest } = parsed as Record<string, unknown>;
    if (typeof type !== 'string') return INVALID_MESSAGE;
    const { id, ...body } = rest;
    if (typeof id !== 'string' || id.length > MAX_MESSAGE_ID_LENGTH) return { type, body: rest };
    return { type, id, body };
  } catch {
    return INVALID_MESSAGE;
  }
}

/** Rejects a connection before the upgrade, with a problem as in the API (RFC 9457). */
export function refuseUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  code: ChannelCode,
  status = statusOf(code),
): void {
  const { headers, body } = refusal(request, code, status);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  // A client that does not close its side would keep the connection.
  setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS).unref();
}

/** Rejects a connection by long polling in the same way. */
export function refuseRequest(request: IncomingMessage, response: ServerResponse, code: ChannelCode): void {
  const { headers, body } = refusal(request, code, statusOf(code));
  response.writeHead(statusOf(code), headers).end(body);
}

function statusOf(code: ChannelCode): number {
  return REFUSED_STATUS[code] ?? 401;
}

function refusal(
  request: IncomingMessage,
  code: ChannelCode,
  status: number,
): { headers: Record<string, string>; body: string } {
  const requestId = requestIdOf(request.headers['x-request-id']);
  const body = JSON.stringify({
    type: `/problems/${code}`,
    title: STATUS_CODES[status] ?? '',
    status,
    detail: CHANNEL_CODES[code],
    instance: CHANNEL_PATH,
    code,
    request_id: requestId,
  });
  const headers = {
    'Content-Type': 'application/problem+json',
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': requestId,
    Connection: 'close',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...(status === 401
      ? { 'WWW-Authenticate': 'Bearer realm="baton", error="invalid_token"' }
      : { 'Retry-After': '5' }),
  };
  return { headers, body };
}
