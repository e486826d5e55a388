import { readFileSync } from 'node:fs';
import { inCheckout } from '../../dev/common/paths.ts';
import { CHANNEL_PATH } from '../../src/domain/channel/channel.ts';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import { openPage } from './browser.ts';
import {
  beginFollowing,
  plainAddress,
  joinMessage,
  type FollowingBuilder,
  type ChannelClient,
  type Joined,
} from './following.ts';

type Report = { id: number } & (
  | { what: 'event'; body: FeedEvent }
  | { what: 'joined'; body: Joined }
  | { what: 'refused' | 'failed'; body: string }
  | { what: 'ended'; body: string | null }
);

const LIBRARY = inCheckout('node_modules', 'socket.io-client', 'dist', 'socket.io.min.js');

/**
 * The script of the page. It calls `report` of this process once for several events, because each call goes through the
 * browser's debugging connection.
 */
const SCRIPT = `
  const leaving = new Map();
  let pending = [];
  function record(id, what, body) {
    if (pending.length === 0) setTimeout(() => { const batch = pending; pending = []; report(batch); }, 5);
    pending.push({ id, what, body });
  }
  function followBySocketIo({ id, path, token, request }) {
    const socket = io({ path, query: { token }, forceNew: true, reconnection: false });
    let code = null;
    leaving.set(id, () => socket.disconnect());
    socket.on('connect', () => socket.emit('join', request, (answer) =>
      record(id, answer.ok ? 'joined' : 'refused', answer.ok ? answer : answer.code)));
    socket.on('connect_error', (error) =>
      record(id, error.data ? 'refused' : 'failed', error.data ? error.data.code : error.message));
    socket.on('event', (event) => record(id, 'event', event));
    socket.on('closed', (last) => { code = last.code; });
    socket.on('disconnect', () => record(id, 'ended', code));
  }
  function followPlainly({ id, address, request }) {
    const socket = new WebSocket(address);
    let code = null;
    leaving.set(id, () => socket.close());
    socket.onopen = () => socket.send(JSON.stringify({ type: 'join', ...request }));
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      if (message.type === 'event') record(id, 'event', message.event);
      else if (message.type === 'joined') record(id, 'joined', message);
      else if (message.type === 'refused') record(id, 'refused', message.code);
      else if (message.type === 'closed') code = message.code;
    };
    socket.onerror = () => record(id, 'failed', 'the WebSocket failed');
    socket.onclose = (event) => record(id, 'ended', code || event.reason || null);
  }
  function leave(id) { leaving.get(id)?.(); leaving.delete(id); }
`;

type Way = 'followBySocketIo' | 'followPlainly';
type FollowingPage = {
  /** Opens a connection in the page. Returns the function that closes it. */
  begin(way: Way, options: object, connection: FollowingBuilder): Promise<() => Promise<void>>;
  close(): Promise<void>;
};

/** Creates clients in a real browser, with one page for each gateway. `close` closes the pages. */
export function browserClients(): { clients: ChannelClient[]; close(): Promise<void> } {
  const pages = new Map<string, Promise<FollowingPage>>();
  const pageAt = (url: string) => {
    const page = pages.get(url) ?? openFollowingPage(url);
    pages.set(url, page);
    return page;
  };
  const client = (name: string, way: Way): ChannelClient => ({
    name,
    async follow(url, token, executionId, { after, onEvent } = {}) {
      const page = await pageAt(url);
      const connection = beginFollowing(onEvent);
      const options = { address: plainAddress(url, token), token, request: joinMessage(executionId, after) };
      const leave = await page.begin(way, options, connection);
      return await connection.follow(name, leave);
    },
  });
  return {
    clients: [
      client('browser, Socket.IO (polling, then websocket)', 'followBySocketIo'),
      client('browser, WebSocket', 'followPlainly'),
    ],
    async close() {
      await Promise.all([...pages.values()].map(async (page) => (await page).close()));
    },
  };
}

/**
 * Opens a page of the gateway's own origin, because long polling obeys the same-origin policy, and a page of another
 * origin may not call this machine. The content of the page does not matter.
 */
async function openFollowingPage(url: string): Promise<FollowingPage> {
  const { page, close } = await openPage({ bypassCSP: true });
  const connections = new Map<number, FollowingBuilder>();
  let last = 0;
  await page.goto(`${url}/health/live`);
  await page.exposeFunction('report', (all: Report[]) => {
    for (const report of all) dispatch(report, connections.get(report.id));
  });
  for (const content of [readFileSync(LIBRARY, 'utf8'), SCRIPT]) await page.addScriptTag({ content });
  return {
    close,
    async begin(way, options, connection) {
      const id = ++last;
      connections.set(id, connection);
      await page.evaluate(`${way}(${JSON.stringify({ id, path: CHANNEL_PATH, ...options })})`);
      return async () => {
        connections.delete(id);
        connection.ended(null);
        await page.evaluate(`leave(${id})`);
      };
    },
  };
}

function dispatch(report: Report, connection: FollowingBuilder | undefined): void {
  if (report.what === 'event') connection?.event(report.body);
  else if (report.what === 'joined') connection?.joined(report.body);
  else if (report.what === 'refused') connection?.refused(report.body);
  else if (report.what === 'failed') connection?.failed(report.body);
  else connection?.ended(report.body);
}
