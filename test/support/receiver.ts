import { EventEmitter, on } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, Server as SecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { ServerCertificate } from './certificates.ts';
import { WAIT_TIMEOUT_MS } from './eventually.ts';

/** A received request. */
export type ReceivedRequest = {
  method: string;
  /** Path and query. */
  url: string;
  headers: IncomingHttpHeaders;
  /** Alternating names and values, as received. */
  rawHeaders: readonly string[];
  body: Buffer;
  /** The time at which the last byte arrived. */
  at: Date;
  /** The same number for requests on the same connection. */
  connection: number;
};

/** Handles a request: returns a status, or writes the response itself. */
export type Answering = (request: ReceivedRequest, response: ServerResponse) => number | undefined;

/** A real HTTP server that accepts every request. Each method sets the behaviour until the next call. */
export type Receiver = {
  url: string;
  port: number;
  /** All received requests, oldest first. */
  requests: readonly ReceivedRequest[];
  /** Returns the number of accepted connections so far. */
  connections(): number;
  answering(answer: number | Answering): Receiver;
  /** Accepts requests and never responds. */
  hanging(): Receiver;
  /** Closes the connection before the headers of the response or during its body. */
  closingEarly(when?: 'before headers' | 'mid-body'): Receiver;
  /** Returns 200 with a byte of body every `everyMs`, without end. */
  dripping(everyMs?: number): Receiver;
  redirecting(to: string): Receiver;
  /** Uses another certificate for new connections; only with HTTPS. */
  showing(tls: ServerCertificate): Receiver;
  /** Waits until `count` requests have arrived in total. @throws after `withinMs` */
  receives(count: number, withinMs?: number): Promise<readonly ReceivedRequest[]>;
  /** @throws if a request arrives within `ms` */
  staysQuiet(ms: number): Promise<void>;
  close(): Promise<void>;
};

export type ReceiverOptions = {
  /** Uses HTTPS with this certificate. */
  tls?: ServerCertificate;
  host?: string;
  /** The name in `url`; the host by default. */
  name?: string;
};

/** Starts a receiver on a free port. It returns 204 by default. */
export async function startReceiver({
  tls,
  host = '127.0.0.1',
  name,
}: ReceiverOptions = {}): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  const arrivals = new EventEmitter().setMaxListeners(0);
  const connections = numbering();
  let behaviour: Answering = () => 204;

  const handle = (message: IncomingMessage, response: ServerResponse) => {
    bytesOf(message).then(
      (body) => handleComplete(message, body, response),
      // An incomplete request is ignored.
      () => {},
    );
  };
  const handleComplete = (message: IncomingMessage, body: Buffer, response: ServerResponse) => {
    const request = received(message, body, connections.of(message.socket));
    requests.push(request);
    const status = behaviour(request, response);
    if (status !== undefined) response.writeHead(status).end();
    arrivals.emit('request');
  };
  const server = tls === undefined ? createServer(handle) : createSecureServer(tls, handle);
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) =>
    connections.of(socket),
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const shown = name ?? (host.includes(':') ? `[${host}]` : host);

  const become = (answer: Answering) => {
    behaviour = answer;
    return receiver;
  };
  const receiver: Receiver = {
    url: `${tls === undefined ? 'http' : 'https'}://${shown}:${port}`,
    port,
    requests,
    connections: connections.count,
    answering: (answer) => become(typeof answer === 'number' ? () => answer : answer),
    hanging: () => become(() => undefined),
    closingEarly: (when = 'before headers') => become(when === 'mid-body' ? closeMidBody : closeAtOnce),
    dripping: (everyMs = 20) => become((_request, response) => drip(response, everyMs)),
    redirecting: (to) => become((_request, response) => void response.writeHead(302, { location: to }).end()),
    showing(other) {
      if (!(server instanceof SecureServer)) throw new Error('a receiver without certificate');
      server.setSecureContext(other);
      return receiver;
    },
    async receives(count, withinMs = WAIT_TIMEOUT_MS) {
      await until(arrivals, () => requests.length >= count, withinMs);
      if (requests.length >= count) return requests;
      throw new Error(`${requests.length} of ${count} requests arrived within ${withinMs} ms`);
    },
    async staysQuiet(ms) {
      const before = requests.length;
      await until(arrivals, () => requests.length > before, ms);
      if (requests.length > before)
        throw new Error(`${requests.length - before} unexpected request(s) arrived`);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}

function received(message: IncomingMessage, body: Buffer, connection: number): ReceivedRequest {
  const { method = '', url = '', headers, rawHeaders } = message;
  return { method, url, headers, rawHeaders, body, at: new Date(), connection };
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const closeAtOnce: Answering = (_request, response) => {
  response.socket?.destroy();
  return undefined;
};

const closeMidBody: Answering = (_request, response) => {
  response.writeHead(200, { 'content-length': '1000' });
  response.write('half of', () => response.socket?.destroy());
  return undefined;
};

function drip(response: ServerResponse, everyMs: number): undefined {
  response.writeHead(200);
  const timer = setInterval(() => response.write('.'), everyMs);
  response.on('close', () => clearInterval(timer));
}

/** Resolves when `there()` holds after an event, or after `ms`. */
async function until(arrivals: EventEmitter, there: () => boolean, ms: number): Promise<void> {
  if (there()) return;
  const signal = AbortSignal.timeout(ms);
  try {
    for await (const _ of on(arrivals, 'request', { signal })) if (there()) return;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function numbering() {
  const known = new WeakMap<Socket, number>();
  let next = 0;
  return {
    count: () => next,
    of(socket: Socket): number {
      const number = known.get(socket) ?? ++next;
      known.set(socket, number);
      return number;
    },
  };
}
