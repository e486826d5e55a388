import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/*
 * A receiver in a separate process, started with `fork()`. It sends `{ port }`, accepts POSTs, and responds to every
 * message with the requests since the last one. It never responds to paths that begin with /hang, after 25 s to /slow,
 * and with 500 to /fail.
 */

/** `[event id, path, milliseconds since 1970]` of each request. */
export type ReceivedEvent = [id: string, path: string, at: number];

const SLOW_MS = 25_000;
let arrivals: ReceivedEvent[] = [];
/** A payload begins with its id. */
const ID_AT = '{"id":"'.length;

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks);
    const id = body.toString('latin1', ID_AT, body.indexOf('"', ID_AT));
    const path = request.url ?? '/';
    arrivals.push([id, path, performance.timeOrigin + performance.now()]);
    const respond = () => response.writeHead(path.startsWith('/fail') ? 500 : 204).end();
    if (path.startsWith('/slow')) setTimeout(respond, SLOW_MS);
    else if (!path.startsWith('/hang')) respond();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('message', () => {
  process.send?.({ arrivals });
  arrivals = [];
});
process.on('disconnect', () => process.exit(0));
