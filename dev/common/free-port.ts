import { createServer } from 'node:net';

/**
 * Ports that systems do not use for outgoing connections (Linux uses those from 32768, others higher ones). A client
 * that retries a port in that range while its server is restarted can connect to itself, and so keep the server from
 * starting.
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;
const PORTS = LAST_PORT - FIRST_PORT;
const TRIES = 50;

/**
 * The next port to try. Each process begins at another port and counts up, so that a port is not returned again before
 * something listens on it, by this or another process.
 */
let next = (process.pid * 7919) % PORTS;

/** Returns whether a process could listen on `port` at `host` now. */
export function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    // On a machine without this address family, nothing can use the port.
    server.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code !== 'EADDRINUSE' && error.code !== 'EACCES'),
    );
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Returns a free port: `preferred` if it is free, otherwise any. */
export async function freePort(preferred = 0, host = '127.0.0.1'): Promise<number> {
  if (preferred > 0 && (await isFree(preferred, host))) return preferred;
  for (let tries = 0; tries < TRIES; tries++) {
    const port = FIRST_PORT + next;
    next = (next + 1) % PORTS;
    if (await isFree(port, host)) return port;
  }
  throw new Error(`no free port on ${host}`);
}

/** Waits until `port` is free, for at most `limitMs`. The port of a killed server may stay in use for a short time. */
export async function untilFree(port: number, limitMs: number, host = '127.0.0.1'): Promise<void> {
  const limit = Date.now() + limitMs;
  while (!(await isFree(port, host))) {
    if (Date.now() > limit)
      throw new Error(`port ${port} on ${host} is still in use after ${limitMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
