import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Cut } from './plan-disturbances.ts';

/** A TCP proxy on a way between two, that can be cut. */
export type Link = {
  port: number;
  /** Cuts the way until {@link Link.heal}. `delayMs` is what each piece takes longer, in each direction. */
  cut(how: Cut, delayMs: number): void;
  heal(): void;
  close(): Promise<void>;
};

type Pair = { from: Socket; to: Socket };

/** Opens a way to a port of this machine. */
export async function openLink(targetPort: number): Promise<Link> {
  const pairs = new Set<Pair>();
  let how: Cut | null = null;
  let delayMs = 0;
  let open = Promise.withResolvers<void>();
  open.resolve();

  /** Carries one direction, piece by piece in their order. */
  async function carry(from: Socket, to: Socket): Promise<void> {
    for await (const piece of from) {
      await open.promise;
      if (how === 'delay') await wait(delayMs);
      if (to.destroyed) return;
      if (!to.write(piece as Buffer)) await Promise.race([once(to, 'drain'), once(to, 'close')]);
    }
    await open.promise;
    to.end();
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (from) => {
    from.on('error', () => {});
    if (how === 'reset') return breakOff(from);
    const to = connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    const pair = { from, to };
    pairs.add(pair);
    // Whoever is not there refuses the connection, so the one who asks for it must see that.
    to.on('error', () => breakOff(from));
    const over = () => {
      pairs.delete(pair);
      if (!from.destroyed) from.destroy();
      if (!to.destroyed) to.destroy();
    };
    from.once('close', over);
    to.once('close', over);
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      carry(one, other).catch(() => breakOff(other));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const breakAll = () => {
    for (const { from, to } of pairs) {
      breakOff(from);
      breakOff(to);
    }
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut(wanted, longerMs) {
      how = wanted;
      delayMs = longerMs;
      if (wanted === 'reset') breakAll();
      if (wanted === 'drop' || wanted === 'stall') open = Promise.withResolvers();
    },
    heal() {
      if (how === 'drop') breakAll();
      how = null;
      open.resolve();
    },
    async close() {
      open.resolve();
      const closed = once(server, 'close');
      server.close();
      breakAll();
      await closed;
    },
  };
}

/** Breaks a connection off as a crash would. One whose end is on its way can't be: the handle would never be closed. */
function breakOff(socket: Socket): void {
  if (socket.destroyed) return;
  if (socket.writableEnded || socket.connecting) socket.destroy();
  else socket.resetAndDestroy();
}
