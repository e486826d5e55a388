import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { eventually } from '../support/eventually.ts';

/** A proxy to a server, whose connections can be cut repeatedly. */
export type Line = {
  url: string;
  /** Waits until a client uses a WebSocket, then cuts every connection. */
  cut(): Promise<void>;
  close(): Promise<void>;
};

const SWITCHES_PROTOCOLS = 'HTTP/1.1 101 ';

/** Forwards bytes in both directions between a free port and the server at `url`. */
export async function lineTo(url: string): Promise<Line> {
  const { hostname, port } = new URL(url);
  const ends = new Set<Socket>();
  /** Sockets of clients that have sent something since the server accepted their WebSocket. */
  const inUse = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    for (const [end, other] of [
      [near, far],
      [far, near],
    ] as const) {
      ends.add(end);
      end.pipe(other);
      end.on('error', () => {});
      end.once('close', () => {
        ends.delete(end);
        inUse.delete(end);
        other.destroy();
      });
    }
    far.on('data', (bytes: Buffer) => {
      if (bytes.toString('latin1').startsWith(SWITCHES_PROTOCOLS)) near.once('data', () => inUse.add(near));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const destroyAll = () => {
    for (const end of ends) end.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async cut() {
      await eventually('a WebSocket is in use', () => inUse.size > 0);
      destroyAll();
      inUse.clear();
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      destroyAll();
      await closed;
    },
  };
}
