import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { services } from '../../test/support/services.ts';

/*
 * Accepts POSTs over http and https in a separate process and responds with 204, as fast as Node can. Start it with
 * `fork()`. It sends `{ http, https }`, the ports.
 */
const { cert, key } = services().tls;
const answer: Parameters<typeof createServer>[1] = (request, response) => {
  request.resume();
  request.on('end', () => response.writeHead(204).end());
};

const listening = (server: Server) =>
  new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });

const options = { keepAliveTimeout: 60_000 };
const [http, https] = await Promise.all([
  listening(createServer(options, answer)),
  listening(createSecureServer({ ...options, cert, key }, answer)),
]);
process.send?.({ http, https });
process.on('disconnect', () => process.exit(0));
