import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Ports that systems don't give to outgoing connections by themselves (Linux begins at 32768, others later). A client
 * that knocks again and again at a port in that range, while its server is restarted, can end up talking to itself
 * and so keep the server from coming back.
 */
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;
const TRIES = 50;

/** Whether something could listen on `port` at `host` now. */
export function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    // A machine without this kind of address has nothing that could be in the way.
    server.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code !== 'EADDRINUSE' && error.code !== 'EACCES'),
    );
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** A port nothing listens on: `preferred` where that is free, else any. */
export async function freePort(preferred = 0, host = '127.0.0.1'): Promise<number> {
  if (preferred > 0 && (await isFree(preferred, host))) return preferred;
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(FIRST_PORT, LAST_PORT);
    if (await isFree(port, host)) return port;
  }
  throw new Error(`no free port on ${host}`);
}

/** Waits until `port` is free, for at most `limitMs`: a server that was killed may hold it a moment longer. */
export async function untilFree(port: number, limitMs: number, host = '127.0.0.1'): Promise<void> {
  const limit = Date.now() + limitMs;
  while (!(await isFree(port, host))) {
    if (Date.now() > limit)
      throw new Error(`port ${port} on ${host} is still in use after ${limitMs / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
