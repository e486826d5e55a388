import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** Takes callbacks over HTTPS and tells whoever waits for one of a task. */
export type CallbackReceiver = {
  url: string;
  /**
   * Resolves with the time (performance.now) at which the callback of `id` was there; call it before or after. It is
   * forgotten then where nobody will ask again (`once`), so that a long run does not gather them.
   */
  arrival(id: string, options?: { once: boolean }): Promise<number>;
  close(): void;
};

export async function startCallbackReceiver(tls: { cert: string; key: string }): Promise<CallbackReceiver> {
  const arrivals = new Map<string, PromiseWithResolvers<number>>();
  const of = (id: string) => {
    const known = arrivals.get(id) ?? Promise.withResolvers<number>();
    arrivals.set(id, known);
    return known;
  };
  const server = createServer(tls, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      of(JSON.parse(Buffer.concat(chunks).toString()).execution_id).resolve(performance.now());
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}/`,
    async arrival(id, { once } = { once: false }) {
      const at = await of(id).promise;
      if (once) arrivals.delete(id);
      return at;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
