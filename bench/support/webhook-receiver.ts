import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/*
 * A receiver in a process of its own: `fork()` it. It says `{ port }`, takes POSTs, and answers every message with
 * the arrivals since the last one. A path that begins with /hang is never answered.
 */

/** `[event id, path, milliseconds since 1970]` of each request. */
export type Arrival = [id: string, path: string, at: number];

let arrivals: Arrival[] = [];
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
    if (!path.startsWith('/hang')) response.writeHead(204).end();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('message', () => {
  process.send?.({ arrivals });
  arrivals = [];
});
process.on('disconnect', () => process.exit(0));
