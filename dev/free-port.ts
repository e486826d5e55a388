import { createServer } from 'node:net';

/** Whether something could listen on `port` now; port 0 always can. */
export async function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return (await tryPort(port, host)) !== null;
}

/** A port nothing listens on: `preferred` where it is free, else one the system chooses. */
export async function freePort(preferred = 0, host = '127.0.0.1'): Promise<number> {
  const port = (await tryPort(preferred, host)) ?? (await tryPort(0, host));
  if (port === null) throw new Error(`no free port on ${host}`);
  return port;
}

function tryPort(port: number, host: string): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      const taken = typeof address === 'object' && address !== null ? address.port : null;
      server.close(() => resolve(taken));
    });
  });
}
