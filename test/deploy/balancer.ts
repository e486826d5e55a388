import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A load balancer: one address in front of several ports. Connections go to the ports in turn; ports that refuse are skipped. */
export type Balancer = {
  url: string;
  /** The number of connections that each port got so far. */
  given: ReadonlyMap<number, number>;
  /** Accepts no new connections to this port, like a load balancer before a backend stops. */
  withdraw(port: number): void;
  restore(port: number): void;
  close(): Promise<void>;
};

/** Starts a load balancer for TCP on a free port of this machine. */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const given = new Map(ports.map((port) => [port, 0]));
  const withdrawn = new Set<number>();
  const sockets = new Set<Socket>();
  let turn = 0;

  function keep(socket: Socket): void {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
  }

  function lead(client: Socket, candidates: readonly number[]): void {
    const [port, ...others] = candidates;
    if (port === undefined) {
      client.destroy();
      return;
    }
    const server = connect({ port, host: '127.0.0.1' });
    keep(server);
    const refused = () => lead(client, others);
    server.once('error', refused);
    server.once('connect', () => {
      server.off('error', refused);
      given.set(port, (given.get(port) ?? 0) + 1);
      client.pipe(server).pipe(client);
      client.once('close', () => server.destroy());
      server.once('close', () => client.destroy());
    });
  }

  const listener = createServer((client) => {
    keep(client);
    const from = turn++ % ports.length;
    const order = [...ports.slice(from), ...ports.slice(0, from)];
    lead(
      client,
      order.filter((port) => !withdrawn.has(port)),
    );
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    given,
    withdraw: (one) => void withdrawn.add(one),
    restore: (one) => void withdrawn.delete(one),
    close: () =>
      new Promise((resolve) => {
        listener.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
