import { once } from 'node:events';
import WebSocket from 'ws';

/** Viewers of runs that are replaced from time to time. */
export type SteadyViewers = {
  /** Closes the previous connections and opens `count` new ones, which join the runs in turn. */
  watch(runs: readonly string[], count: number): Promise<void>;
  /** The number of messages so far, over all connections. */
  messageCount(): number;
  close(): Promise<void>;
};

/** `gateway`: its http address. `token` is called before each opening, since tokens expire after minutes. */
export function createSteadyViewers(gateway: string, token: () => Promise<string>): SteadyViewers {
  let sockets: WebSocket[] = [];
  let messages = 0;
  const open = async (room: string, bearer: string): Promise<WebSocket> => {
    const socket = new WebSocket(`${gateway.replace('http', 'ws')}/ws?token=${bearer}`);
    await once(socket, 'open');
    socket.on('message', () => (messages += 1));
    // A broken connection only lowers the number of messages.
    socket.on('error', () => {});
    socket.send(JSON.stringify({ type: 'join', room }));
    return socket;
  };
  const close = async () => {
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
      await close();
      const bearer = await token();
      const rooms = Array.from({ length: count }, (_, number) => `workflow:${runs[number % runs.length]}`);
      sockets = await Promise.all(rooms.map((room) => open(room, bearer)));
    },
    messageCount: () => messages,
    close,
  };
}
