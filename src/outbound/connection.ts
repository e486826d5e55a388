import type { Socket } from 'node:net';
import { Client } from 'undici';
import type { OpenConnection } from './connect.ts';
import { skipContinue } from './interim-responses.ts';

/** How long a connection without work is kept, in milliseconds; shorter than servers usually keep it. */
const IDLE_MS = 2_000;

/**
 * An open connection to one address with the HTTP client that speaks on it. Serves one attempt at a time;
 * `beforeRequest` must be called before each.
 */
export type Connection = { address: string; client: Client; socket: Socket; beforeRequest: () => void };

/**
 * Puts an HTTP/1.1 client onto a socket that is already open. The client never connects by itself, so that no
 * connection escapes the guard.
 */
export function connectionOn({ socket, address }: OpenConnection, origin: string): Connection {
  let given = false;
  const client = new Client(origin, {
    connect: (_options, callback) => {
      // Not at once: undici does not look at its queue again when it is called back from within.
      queueMicrotask(() => {
        if (given) return callback(closed(), null);
        given = true;
        return callback(null, socket);
      });
    },
    allowH2: false,
    pipelining: 1,
    // The attempt's own limit covers these.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
  });
  return { address, client, socket, beforeRequest: skipContinue(socket) };
}

/** True while another request can be written on it. */
export function isUsable({ client, socket }: Connection): boolean {
  return !client.destroyed && !client.closed && !socket.destroyed && socket.writable && socket.readable;
}

/** Closes it at once. */
export function discard({ client, socket }: Connection): void {
  socket.destroy();
  client.destroy().catch(() => {});
}

function closed(): Error {
  return Object.assign(new Error('The connection is closed'), { code: 'ECONNRESET' });
}

/** Connections that wait for their next attempt, by origin and address. */
export type IdleConnections = {
  /** A usable one to any of these addresses, in their order; it is the caller's then. */
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
      // undici ends a connection that idles too long; nobody would ask for it otherwise.
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
