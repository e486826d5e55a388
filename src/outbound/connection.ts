import type { Socket } from 'node:net';
import { Client } from 'undici';
import type { OpenConnection } from './connect.ts';
import { skipContinue } from './interim-responses.ts';

/** How long an idle connection is kept, in milliseconds; shorter than most servers keep it. */
const IDLE_MS = 2_000;

/**
 * An open connection to one address with its HTTP client. Serves one attempt at a time. Call `beforeRequest` before
 * each.
 */
export type Connection = { address: string; client: Client; socket: Socket; beforeRequest: () => void };

/**
 * Creates an HTTP/1.1 client on an open socket. The client never connects by itself, so that no connection bypasses
 * the guard.
 */
export function connectionOn({ socket, address }: OpenConnection, origin: string): Connection {
  let given = false;
  const client = new Client(origin, {
    connect: (_options, callback) => {
      // Deferred: undici does not check its queue again when the callback is called synchronously.
      queueMicrotask(() => {
        if (given) return callback(closed(), null);
        given = true;
        return callback(null, socket);
      });
    },
    allowH2: false,
    pipelining: 1,
    // Covered by the time limit of the attempt.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
  });
  return { address, client, socket, beforeRequest: skipContinue(socket) };
}

/** Returns true if another request can be written. */
export function isUsable({ client, socket }: Connection): boolean {
  return !client.destroyed && !client.closed && !socket.destroyed && socket.writable && socket.readable;
}

/** Closes a connection immediately. */
export function discard({ client, socket }: Connection): void {
  socket.destroy();
  client.destroy().catch(() => {});
}

function closed(): Error {
  return Object.assign(new Error('The connection is closed'), { code: 'ECONNRESET' });
}

/** Idle connections, by origin and address. */
export type IdleConnections = {
  /** Removes and returns a usable connection to one of these addresses, in their order. */
  take(origin: string, addresses: readonly string[]): Connection | null;
  put(origin: string, connection: Connection): void;
  closeAll(): void;
};

export function createIdleConnections(): IdleConnections {
  const waiting = new Map<string, Connection[]>();
  const keyOf = (origin: string, address: string) => `${origin} ${address}`;

  const takeFrom = (key: string): Connection | null => {
    const list = waiting.get(key);
    for (let last = list?.pop(); last !== undefined; last = list?.pop()) {
      if (isUsable(last)) return last;
      discard(last);
    }
    return null;
  };
  const forget = (key: string, connection: Connection) => {
    const left = waiting.get(key)?.filter((other) => other !== connection) ?? [];
    if (left.length === 0) waiting.delete(key);
    else waiting.set(key, left);
  };

  return {
    take(origin, addresses) {
      for (const address of addresses) {
        const found = takeFrom(keyOf(origin, address));
        if (found !== null) return found;
      }
      return null;
    },
    put(origin, connection) {
      if (!isUsable(connection)) return discard(connection);
      const key = keyOf(origin, connection.address);
      const list = waiting.get(key) ?? [];
      list.push(connection);
      waiting.set(key, list);
      // undici closes a connection that is idle too long; it must then be removed from the list.
      if (connection.client.listenerCount('disconnect') === 0) {
        connection.client.once('disconnect', () => forget(key, connection));
      }
    },
    closeAll() {
      for (const list of waiting.values()) list.forEach(discard);
      waiting.clear();
    },
  };
}
