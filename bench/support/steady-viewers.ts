import { once } from 'node:events';
import WebSocket from 'ws';

/** Viewers of runs who come and go. */
export type SteadyViewers = {
  /** Opens so many connections, which join the runs in turn, after those of before have left. */
  watch(runs: readonly string[], count: number): Promise<void>;
  /** Messages that have come so far, over all. */
  seen(): number;
  leave(): Promise<void>;
};

/** `gateway`: its address, http. `token` is asked for at each opening, since tokens live for minutes. */
export function steadyViewers(gateway: string, token: () => Promise<string>): SteadyViewers {
  let sockets: WebSocket[] = [];
  let messages = 0;
  const open = async (room: string, bearer: string): Promise<WebSocket> => {
    const socket = new WebSocket(`${gateway.replace('http', 'ws')}/ws?token=${bearer}`);
    await once(socket, 'open');
    socket.on('message', () => (messages += 1));
    // One that breaks off is missed in what was seen, and nowhere else.
    socket.on('error', () => {});
    socket.send(JSON.stringify({ type: 'join', room }));
    return socket;
  };
  const leave = async () => {
    const closed = sockets.filter(({ readyState }) => readyState === WebSocket.OPEN);
    await Promise.all(
      closed.map(async (socket) => {
        socket.close();
        await once(socket, 'close');
      }),
    );
    sockets = [];
  };
  return {
    async watch(runs, count) {
      await leave();
      const bearer = await token();
      const rooms = Array.from({ length: count }, (_, number) => `workflow:${runs[number % runs.length]}`);
      sockets = await Promise.all(rooms.map((room) => open(room, bearer)));
    },
    seen: () => messages,
    leave,
  };
}
