import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to a service that a test leads elsewhere, or cuts. */
export type Relay = {
  /** http://… */
  url: string;
  /** New connections go there from now on; those that are there stay. */
  leadTo(url: string): void;
  /** Breaks every connection. */
  cut(): void;
  /** Connections taken so far. */
  taken(): number;
  close(): Promise<void>;
};

/** Passes bytes on, both ways, to the service at `url`. */
export async function startRelay(url: string): Promise<Relay> {
  let target = new URL(url);
  let taken = 0;
  const sockets = new Set<Socket>();
  const keep = (socket: Socket, other: Socket) => {
    sockets.add(socket);
    // An end of either is the end of both; why it came does not matter here.
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
  };
  const server = createServer((incoming) => {
    taken += 1;
    const outgoing = connect(Number(target.port), target.hostname);
    keep(incoming, outgoing);
    keep(outgoing, incoming);
    incoming.pipe(outgoing).pipe(incoming);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leadTo(next) {
      target = new URL(next);
    },
    cut,
    taken: () => taken,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}
