import type { Connection } from '../api/connection-state.ts';

/** Returns why something that loads is not there after a while. */
export function waitingText(connection: Connection['state']): string {
  switch (connection) {
    case 'connected':
      return 'Still loading. The server has not responded yet.';
    case 'offline':
      return 'You are offline. This loads when the connection is back.';
    case 'unreachable':
      return 'Cannot reach the server. Baton keeps trying.';
  }
}
