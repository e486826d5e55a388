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

type Told = { id: number } & (
  | { what: 'event'; body: FeedEvent }
  | { what: 'joined'; body: Joined }
  | { what: 'refused' | 'failed'; body: string }
  | { what: 'ended'; body: string | null }
);

const LIBRARY = inCheckout('node_modules', 'socket.io-client', 'dist', 'socket.io.min.js');

/**
 * What runs in the page. `tell` comes from outside; what happens within a moment is told at once, since each call
 * goes through the browser's debugging connection.
 */
const SCRIPT = `
  const leaving = new Map();
  let told = [];
  function note(id, what, body) {
    if (told.length === 0) setTimeout(() => { const now = told; told = []; tell(now); }, 5);
    told.push({ id, what, body });
  }
  function followBySocketIo({ id, path, token, wish }) {
    const socket = io({ path, query: { token }, forceNew: true, reconnection: false });
    let code = null;
    leaving.set(id, () => socket.disconnect());
    socket.on('connect', () => socket.emit('join', wish, (answer) =>
      note(id, answer.ok ? 'joined' : 'refused', answer.ok ? answer : answer.code)));
    socket.on('connect_error', (error) =>
      note(id, error.data ? 'refused' : 'failed', error.data ? error.data.code : error.message));
    socket.on('event', (event) => note(id, 'event', event));
    socket.on('closed', (last) => { code = last.code; });
    socket.on('disconnect', () => note(id, 'ended', code));
  }
  function followPlainly({ id, address, wish }) {
    const socket = new WebSocket(address);
    let code = null;
    leaving.set(id, () => socket.close());
    socket.onopen = () => socket.send(JSON.stringify({ type: 'join', ...wish }));
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      if (message.type === 'event') note(id, 'event', message.event);
      else if (message.type === 'joined') note(id, 'joined', message);
      else if (message.type === 'refused') note(id, 'refused', message.code);
      else if (message.type === 'closed') code = message.code;
    };
    socket.onerror = () => note(id, 'failed', 'the WebSocket failed');
    socket.onclose = (event) => note(id, 'ended', code || event.reason || null);
  }
  function leave(id) { leaving.get(id)?.(); leaving.delete(id); }
`;

type Way = 'followBySocketIo' | 'followPlainly';
type FollowingPage = {
  /** Begins a connection in the page; the answer ends it. */
  begin(way: Way, words: object, connection: FollowingBuilder): Promise<() => Promise<void>>;
  close(): Promise<void>;
};

/** Clients in a real browser, one page for each gateway. `close` closes the pages. */
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
      const words = { address: plainAddress(url, token), token, wish: joinMessage(executionId, after) };
      const leave = await page.begin(way, words, connection);
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
 * A page under the gateway's own address: long polling obeys the browser's rule of one origin, and no page from
 * elsewhere may reach this machine. What the gateway really answers there is of no matter.
 */
async function openFollowingPage(url: string): Promise<FollowingPage> {
  const { page, close } = await openPage({ bypassCSP: true });
  const connections = new Map<number, FollowingBuilder>();
  let last = 0;
  await page.goto(`${url}/health/live`);
  await page.exposeFunction('tell', (all: Told[]) => {
    for (const told of all) pass(told, connections.get(told.id));
  });
  for (const content of [readFileSync(LIBRARY, 'utf8'), SCRIPT]) await page.addScriptTag({ content });
  return {
    close,
    async begin(way, words, connection) {
      const id = ++last;
      connections.set(id, connection);
      await page.evaluate(`${way}(${JSON.stringify({ id, path: CHANNEL_PATH, ...words })})`);
      return async () => {
        connections.delete(id);
        connection.ended(null);
        await page.evaluate(`leave(${id})`);
      };
    },
  };
}

function pass(told: Told, connection: FollowingBuilder | undefined): void {
  if (told.what === 'event') connection?.event(told.body);
  else if (told.what === 'joined') connection?.joined(told.body);
  else if (told.what === 'refused') connection?.refused(told.body);
  else if (told.what === 'failed') connection?.failed(told.body);
  else connection?.ended(told.body);
}
