import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { DisconnectMode } from './plan-faults.ts';

/** A TCP proxy on a connection between two processes, which can be interrupted. */
export type Link = {
  port: number;
  /**
   * Interrupts the connection until {@link Link.restore}. `delayMs`: how long each piece of data is delayed, in each
   * direction.
   */
  disconnect(mode: DisconnectMode, delayMs: number): void;
  restore(): void;
  close(): Promise<void>;
};

type Pair = { from: Socket; to: Socket };

/** Opens a proxy to a port of this machine. */
export async function openLink(targetPort: number): Promise<Link> {
  const pairs = new Set<Pair>();
  let mode: DisconnectMode | null = null;
  let delayMs = 0;
  let flow = Promise.withResolvers<void>();
  flow.resolve();

  /** Forwards the data of one direction, piece by piece and in order. */
  async function forward(from: Socket, to: Socket): Promise<void> {
    for await (const piece of from) {
      await flow.promise;
      if (mode === 'delay') await wait(delayMs);
      if (to.destroyed) return;
      if (!to.write(piece as Buffer)) await Promise.race([once(to, 'drain'), once(to, 'close')]);
    }
    await flow.promise;
    to.end();
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (from) => {
    from.on('error', () => {});
    if (mode === 'reset') return breakConnection(from);
    const to = connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    const pair = { from, to };
    pairs.add(pair);
    // A missing server refuses connections, so the client must see a refusal.
    to.on('error', () => breakConnection(from));
    const closePair = () => {
      pairs.delete(pair);
      if (!from.destroyed) from.destroy();
      if (!to.destroyed) to.destroy();
    };
    from.once('close', closePair);
    to.once('close', closePair);
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      forward(one, other).catch(() => breakConnection(other));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const breakAll = () => {
    for (const { from, to } of pairs) {
      breakConnection(from);
      breakConnection(to);
    }
  };
  return {
    port: (server.address() as AddressInfo).port,
    disconnect(newMode, newDelayMs) {
      mode = newMode;
      delayMs = newDelayMs;
      if (newMode === 'reset') breakAll();
      if (newMode === 'drop' || newMode === 'stall') flow = Promise.withResolvers();
    },
    restore() {
      if (mode === 'drop') breakAll();
      mode = null;
      flow.resolve();
    },
    async close() {
      flow.resolve();
      const closed = once(server, 'close');
      server.close();
      breakAll();
      await closed;
    },
  };
}

/**
 * Breaks a connection like a crash. A connection that is already ending cannot be reset: its handle would never be
 * closed.
 */
function breakConnection(socket: Socket): void {
  if (socket.destroyed) return;
  if (socket.writableEnded || socket.connecting) socket.destroy();
  else socket.resetAndDestroy();
}
