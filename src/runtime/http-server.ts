import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request must have arrived whole by then, in milliseconds; answers may take longer. */
const REQUEST_MS = 30_000;
const HEADERS_MS = 15_000;
/** Longer than the idle time of usual balancers, so that they close a connection first. */
const KEEP_ALIVE_MS = 65_000;
/** What is still being answered when the service stops gets so long, in milliseconds. */
const GRACE_MS = 5_000;
const IDLE_LOOK_MS = 25;

/** A listening server whose handler is put in when everything behind it stands. */
export type Listening = {
  server: Server;
  port: number;
  serve(handler: RequestListener): void;
  close(): Promise<void>;
};

/**
 * Takes the port (0: any free one). Until a handler serves, requests are answered 503. Every answer begins with these
 * headers, whoever makes it.
 * @throws a sentence where the port is taken or not allowed
 */
export async function listen(
  host: string,
  port: number,
  headers: Readonly<Record<string, string>>,
): Promise<Listening> {
  const each = new Map(Object.entries(headers));
  let handler: RequestListener = (_request, response) => {
    response.writeHead(503, { 'Retry-After': '1', Connection: 'close' }).end();
  };
  const server = createServer(
    { requestTimeout: REQUEST_MS, headersTimeout: HEADERS_MS, keepAliveTimeout: KEEP_ALIVE_MS },
    (request, response) => handler(request, response.setHeaders(each)),
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(sentenceFor(error, host, port)));
    server.listen(port, host, resolve);
  });
  return {
    server,
    port: (server.address() as AddressInfo).port,
    serve(next) {
      handler = next;
    },
    close: async () => await closeServer(server),
  };
}

/** The address of what listens at a host's port. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Takes no more connections, lets answers under way end for a while, then ends the rest. */
async function closeServer(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // A kept-alive connection whose answer ends only now becomes idle after the first look.
  const looks = setInterval(() => server.closeIdleConnections(), IDLE_LOOK_MS);
  const timer = setTimeout(() => server.closeAllConnections(), GRACE_MS);
  await closed;
  clearInterval(looks);
  clearTimeout(timer);
}

function sentenceFor(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === 'EADDRINUSE') {
    return new Error(
      `port ${port} on ${host} is already in use; stop the program that listens there, or set PORT to another port`,
    );
  }
  if (error.code === 'EACCES')
    return new Error(`this process has no permission to use port ${port}; set PORT to another port`);
  if (error.code === 'EADDRNOTAVAIL')
    return new Error(`${host} is not an address of this machine; set HOST to another address`);
  return error;
}
