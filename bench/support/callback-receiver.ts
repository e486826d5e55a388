import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';

/** Receives callbacks over HTTPS. */
export type CallbackReceiver = {
  url: string;
  /**
   * Resolves with the time (performance.now) at which the callback of `id` arrived, even if it arrived before. `once`:
   * forgets it afterwards, so that a long run does not accumulate them.
   */
  waitForCallback(id: string, options?: { once: boolean }): Promise<number>;
  close(): void;
};

export async function startCallbackReceiver(tls: { cert: string; key: string }): Promise<CallbackReceiver> {
  const arrivals = new Map<string, PromiseWithResolvers<number>>();
  const arrivalOf = (id: string) => {
    const known = arrivals.get(id) ?? Promise.withResolvers<number>();
    arrivals.set(id, known);
    return known;
  };
  const server = createServer(tls, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      arrivalOf(JSON.parse(Buffer.concat(chunks).toString()).execution_id).resolve(performance.now());
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}/`,
    async waitForCallback(id, { once } = { once: false }) {
      const at = await arrivalOf(id).promise;
      if (once) arrivals.delete(id);
      return at;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
