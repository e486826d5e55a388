import { onlineManager } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { connectionAfter, type Connection, type ConnectionEvent } from './connection-state.ts';

let connection: Connection = { state: 'connected', lastDataAt: null };
const readers = new Set<() => void>();

/** Records an event of the connection. */
export function recordConnection(event: ConnectionEvent): void {
  const { state } = connection;
  connection = connectionAfter(connection, event);
  // The time is read only while there is no connection, and does not change then.
  if (connection.state !== state) for (const reader of readers) reader();
}

onlineManager.subscribe((isOnline) => recordConnection({ type: isOnline ? 'online' : 'offline' }));

/** Returns whether the server can be reached. */
export function useConnection(): Connection['state'] {
  return useSyncExternalStore(subscribe, () => connection.state);
}

/** Returns when the server last returned data; null if it has not yet. */
export function lastDataAt(): number | null {
  return connection.lastDataAt;
}

function subscribe(reader: () => void): () => void {
  readers.add(reader);
  return () => readers.delete(reader);
}
