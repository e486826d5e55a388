import { Transform } from 'node:stream';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A proxy to a service that a test can redirect, cut or silence. */
export type Relay = {
  /** http://… */
  url: string;
  /** Returns the URL with which clients of the service at `url` use the relay. */
  through(url: string): URL;
  /** Sends new connections to another service; existing ones stay. */
  leadTo(url: string): void;
  /** Breaks every connection. */
  cut(): void;
  /** Forwards nothing more on the present connections, and does not close them. */
  silence(): void;
  /** Accepts new connections and sends nothing on them until `answering` is true again. */
  setAnswering(answering: boolean): void;
  /** Returns the number of accepted connections so far. */
  accepted(): number;
  /** Returns whether a connection is open. */
  isInUse(): boolean;
  close(): Promise<void>;
};

/**
 * Forwards bytes in both directions to the service at `url`. `answerTo` may answer what a client sent instead; null if the service
 * does.
 */
export async function startRelay(
  url: string,
  answerTo: (sent: Buffer) => Buffer | null = () => null,
): Promise<Relay> {
  let target = new URL(url);
  let accepted = 0;
  let isAnswering = true;
  const sockets = new Set<Socket>();
  const keep = (socket: Socket, other: Socket) => {
    sockets.add(socket);
    // The end of one socket ends the other; the reason does not matter.
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
  };
  const server = createServer((incoming) => {
    accepted += 1;
    if (!isAnswering) {
      sockets.add(incoming);
      incoming.on('error', () => {}).on('close', () => sockets.delete(incoming));
      incoming.resume();
      return;
    }
    const outgoing = connect(Number(target.port), target.hostname);
    keep(incoming, outgoing);
    keep(outgoing, incoming);
    const question = new Transform({
      transform(sent: Buffer, _encoding, done) {
        const answer = answerTo(sent);
        if (answer) incoming.write(answer);
        done(null, answer ? undefined : sent);
      },
    });
    incoming.pipe(question).pipe(outgoing).pipe(incoming);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://${host}`,
    through: (direct) => Object.assign(new URL(direct), { host }),
    leadTo(next) {
      target = new URL(next);
    },
    cut,
    silence() {
      for (const socket of sockets) socket.unpipe().resume();
    },
    setAnswering(answering) {
      isAnswering = answering;
    },
    accepted: () => accepted,
    isInUse: () => sockets.size > 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}
