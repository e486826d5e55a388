/** Whether the server can be reached, and when it last returned data, in milliseconds since 1970. */
export type Connection = {
  state: 'connected' | 'offline' | 'unreachable';
  lastDataAt: number | null;
};

/** `data` and `problem`: the server responded; `silence`: a request got no response. */
export type ConnectionEvent =
  | { type: 'online' | 'offline' | 'problem' | 'silence' }
  | { type: 'data'; at: number };

/** Returns whether changes arrive: over the live channel of a page, or by requests. */
export function canUpdate(state: Connection['state'], isLive: boolean): boolean {
  return isLive ? state !== 'offline' : state === 'connected';
}

/** Returns the connection after an event. */
export function connectionAfter(before: Connection, event: ConnectionEvent): Connection {
  switch (event.type) {
    case 'data':
      return { state: 'connected', lastDataAt: event.at };
    case 'online':
    case 'problem':
      return { ...before, state: 'connected' };
    case 'offline':
      return { ...before, state: 'offline' };
    case 'silence':
      return before.state === 'offline' ? before : { ...before, state: 'unreachable' };
  }
}
