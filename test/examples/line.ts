import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { eventually } from '../support/eventually.ts';

/** A line to a server that can be cut, again and again. */
export type Line = {
  url: string;
  /** Cuts every connection, once there is one. */
  cut(): Promise<void>;
  close(): Promise<void>;
};

/** Passes bytes on, both ways, from a free port to the server at `url`. */
export async function lineTo(url: string): Promise<Line> {
  const { hostname, port } = new URL(url);
  const ends = new Set<Socket>();
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
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const destroyAll = () => {
    for (const end of ends) end.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async cut() {
      await eventually('somebody is connected', () => ends.size > 0);
      destroyAll();
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      destroyAll();
      await closed;
    },
  };
}
