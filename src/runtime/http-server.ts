import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PROBLEMS } from '../domain/common/problem-codes.ts';
import { requestIdOf } from '../security/request-id.ts';

/** Time limit for receiving a complete request, in milliseconds. Responses may take longer. */
const REQUEST_MS = 30_000;
const HEADERS_MS = 15_000;
/** Longer than the idle timeout of common load balancers, so that they close connections first. */
const KEEP_ALIVE_MS = 65_000;
/** How long running responses may take during shutdown, in milliseconds. */
const GRACE_MS = 5_000;
const IDLE_CHECK_MS = 25;
/** The problem of a request before the dependencies are ready (docs/http-api.md). */
const STARTING = {
  type: '/problems/unavailable',
  ...PROBLEMS.unavailable,
  detail: 'The service is starting. Try again soon.',
  code: 'unavailable',
};

/** A listening server. Its handler is set when the dependencies are ready. */
export type Listening = {
  server: Server;
  port: number;
  serve(handler: RequestListener): void;
  close(): Promise<void>;
};

/**
 * Listens on the port (0: any free one). Requests get 503 with a problem until a handler is set. All responses start with these
 * headers.
 * @throws Error with a sentence if the port is taken or not allowed
 */
export async function listen(
  host: string,
  port: number,
  headers: Readonly<Record<string, string>>,
): Promise<Listening> {
  const each = new Map(Object.entries(headers));
  let handler: RequestListener = ({ headers: given, url = '' }, response) => {
    const requestId = requestIdOf(given['x-request-id']);
    const [instance] = url.split('?', 1);
    response
      .writeHead(STARTING.status, {
        'Content-Type': 'application/problem+json',
        'Retry-After': '1',
        'X-Request-Id': requestId,
        Connection: 'close',
      })
      .end(JSON.stringify({ ...STARTING, instance, request_id: requestId }));
  };
  const server = createServer(
    { requestTimeout: REQUEST_MS, headersTimeout: HEADERS_MS, keepAliveTimeout: KEEP_ALIVE_MS },
    (request, response) => handler(request, response.setHeaders(each)),
  );
  await listenAt(server, { host, port, hostFrom: 'HOST', portFrom: 'PORT' });
  return {
    server,
    port: (server.address() as AddressInfo).port,
    serve(next) {
      handler = next;
    },
    close: async () => await closeServer(server),
  };
}

/** Returns the URL of a host and port. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Stops accepting connections, waits for running responses, then closes the rest. */
async function closeServer(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  // A keep-alive connection whose response ends only now becomes idle after the first check.
  const looks = setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS);
  const timer = setTimeout(() => server.closeAllConnections(), GRACE_MS);
  await closed;
  clearInterval(looks);
  clearTimeout(timer);
}

type ListenAddress = { host: string; port: number; hostFrom: string; portFrom: string };

/**
 * Listens at an address. `hostFrom` and `portFrom` are the environment variables that configure it.
 * @throws Error with a sentence that says what to do if the port is in use or not allowed
 */
export async function listenAt(server: Server, address: ListenAddress): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(describeListenError(error, address)));
    server.listen(address.port, address.host, resolve);
  });
}

function describeListenError(
  error: NodeJS.ErrnoException,
  { host, port, hostFrom, portFrom }: ListenAddress,
): Error {
  if (error.code === 'EADDRINUSE') {
    return new Error(
      `port ${port} on ${host} is already in use; stop the program that listens there, or set ${portFrom} to another port`,
    );
  }
  if (error.code === 'EACCES')
    return new Error(`this process has no permission to use port ${port}; set ${portFrom} to another port`);
  if (error.code === 'EADDRNOTAVAIL')
    return new Error(`${host} is not an address of this machine; set ${hostFrom} to another address`);
  return error;
}
