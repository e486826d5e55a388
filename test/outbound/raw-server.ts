import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';

/** A TCP server for responses that no HTTP library sends. */
export type RawServer = { port: number; connections: readonly Socket[]; close(): Promise<void> };

/** Starts a server that passes each connection to `onConnection`; by default on a free port. */
export async function startRawServer(
  onConnection: (socket: Socket) => void,
  { host = '127.0.0.1', port = 0 } = {},
): Promise<RawServer> {
  const connections: Socket[] = [];
  const server: Server = createServer((socket) => {
    connections.push(socket);
    socket.on('error', () => {});
    onConnection(socket);
  });
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  return {
    port: address.port,
    connections,
    async close() {
      for (const socket of connections) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Responds to every request with exactly these bytes. */
export function respondingWith(answer: string | Buffer, { andClose = false } = {}) {
  return (socket: Socket) => {
    socket.on('data', () => {
      if (andClose) socket.end(answer);
      else socket.write(answer);
    });
  };
}

/**
 * Starts a forward proxy that supports only CONNECT. `asked` are the requested authorities, with their credentials.
 * `status` is the status of the response, or a function of the authority; `answer` replaces the whole response.
 */
export async function startProxy({
  status = 200,
  answer,
}: {
  status?: number | ((authority: string) => number);
  answer?: string;
} = {}) {
  const { createServer: createHttp } = await import('node:http');
  const { connect } = await import('node:net');
  const asked: { authority: string; authorization: string | undefined }[] = [];
  const sockets = new Set<Socket>();
  const server = createHttp((_request, response) => response.writeHead(405).end());
  server.on('connection', (socket) => sockets.add(socket));
  server.on('connect', (request, socket) => {
    const { hostname, port } = new URL(`http://${request.url}`);
    asked.push({ authority: request.url ?? '', authorization: request.headers['proxy-authorization'] });
    const code = typeof status === 'number' ? status : status(request.url ?? '');
    if (answer !== undefined) return socket.end(answer);
    if (code !== 200) return socket.end(`HTTP/1.1 ${code} No\r\n\r\n`);
    const onward = connect(Number(port), hostname.replace(/[[\]]/g, ''), () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
    sockets.add(onward);
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
    return undefined;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
