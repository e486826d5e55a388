import { CHANNEL_PATH } from './vocabulary.ts';
import { lifetimeOf, RENEWED_AFTER, type GoodToken } from './credentials.ts';
import { pathOf, type Http } from './http.ts';
import { BatonProblem } from './problem.ts';
import { isPassing } from './retry.ts';
import type { FeedEvent, Token } from './types.ts';
import { WayFailed } from './way-failed.ts';

/** As much of a WebSocket as is needed here: that of browsers, of Node 22 and newer, or of the package `ws`. */
export type WebSocketLike = {
  readonly readyState: number;
  send(data: string): void;
  close(code?: number): void;
  // oxlint-disable-next-line typescript/no-explicit-any -- each kind of WebSocket has events of its own
  addEventListener(type: string, listener: (event: any) => void): void;
};
export type WebSocketConstructor = new (address: string) => WebSocketLike;

export type ChannelDependencies = {
  WebSocket: WebSocketConstructor | null;
  /** The channel's address without the token, `wss://…/ws`. */
  url: string;
  /** The project of the tokens, for callers other than keys: a key belongs to one project. */
  projectId?: string | undefined;
};

/** A room that was joined. */
export type Room = {
  /** The next event; null where none comes within `quietMs`. @throws WayFailed where the connection ends */
  next(quietMs: number): Promise<FeedEvent | null>;
  close(): void;
};

type Message = { type?: string; event?: FeedEvent; code?: string; message?: string };

const OPEN = 1;
/** The upgrade and the answer to `join`, together. */
const JOIN_LIMIT_MS = 15_000;
const LEAST_RENEWAL_MS = 1_000;
const RENEWAL_AGAIN_MS = 5_000;
/** More than so many events that nobody has taken are not kept: the connection is made anew, from the last one taken. */
const MOST_WAITING = 5_000;

/** The address of the channel that belongs to an API: the same host, as a WebSocket. */
export function channelUrlOf(baseUrl: string): string {
  return baseUrl.replace(/^http/, 'ws') + CHANNEL_PATH;
}

/**
 * Joins a task's room, for the events behind `after`. The token is renewed while the connection lasts.
 * @throws WayFailed where there is no channel, BatonUnreachable where the service is away
 */
export async function joinRoom(
  http: Http,
  { WebSocket, url, projectId }: ChannelDependencies,
  { id, after, signal }: { id: string; after: number; signal?: AbortSignal | undefined },
): Promise<Room> {
  if (WebSocket === null) throw new WayFailed('There is no WebSocket here.', true);
  const token = await newToken(http, projectId, signal);
  signal?.throwIfAborted();
  const socket = new WebSocket(`${url}?token=${encodeURIComponent(token.token)}`);
  const inbox = createInbox();
  const joined = createSettling();
  const end = (why: string, isFinal = false) => {
    joined.fail(new WayFailed(why, isFinal));
    inbox.end(why);
    clearTimeout(limit);
    renewing.stop();
    signal?.removeEventListener('abort', close);
    socket.close();
  };
  const close = () => end('It was closed.');
  // Something on the way keeps WebSockets from getting through: a second attempt would wait as long.
  const limit = setTimeout(() => end('The live channel did not respond in time.', true), JOIN_LIMIT_MS);
  const renewing = keepGood(socket, token, () => newToken(http, projectId, signal));
  signal?.addEventListener('abort', close, { once: true });
  socket.addEventListener('open', () =>
    socket.send(JSON.stringify({ type: 'join', room: `workflow:${id}`, after })),
  );
  socket.addEventListener('message', ({ data }: { data: unknown }) => {
    const { type, event, code, message }: Message = parsed(data);
    if (type === 'event' && event) {
      if (!inbox.put(event)) end('Events come faster than they are taken.');
    } else if (type === 'joined') {
      clearTimeout(limit);
      joined.succeed();
    } else if (type === 'closed' || (type === 'refused' && joined.isOpen())) {
      end(message ?? code ?? 'The live channel refused.');
    }
  });
  socket.addEventListener('error', ({ message }: { message?: string }) =>
    end(`The live channel is unreachable${message ? ` (${message})` : ''}.`),
  );
  socket.addEventListener('close', () => end('The connection to the live channel was lost.'));
  await joined.done;
  return { next: inbox.next, close };
}

/** Requests a token from the service, unless the caller has a source of tokens. */
async function newToken(
  http: Http,
  projectId: string | undefined,
  signal: AbortSignal | undefined,
): Promise<GoodToken> {
  const body = projectId === undefined ? {} : { body: { project_id: projectId } };
  const call = { method: 'POST', path: pathOf('tokens'), ...body, retries: 0, signal } as const;
  try {
    const own = await http.credentials.freshToken();
    if (own !== null) return own;
    const { token } = await http.json<Token>(call);
    return { token, lifetimeMs: lifetimeOf(token, Date.now()) };
  } catch (error) {
    // The other ways need no token.
    if (error instanceof BatonProblem && !isPassing(error)) {
      throw new WayFailed(`No token for the live channel: ${error.message}`, true);
    }
    throw error;
  }
}

/** Gives the connection a newer token before the one that it has expires. */
function keepGood(socket: WebSocketLike, first: GoodToken, newer: () => Promise<GoodToken>) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const later = (ms: number | null) => {
    if (ms !== null) timer = setTimeout(() => void renew(), ms);
  };
  const renew = async () => {
    try {
      const next = await newer();
      if (socket.readyState !== OPEN) return;
      socket.send(JSON.stringify({ type: 'renew', token: next.token }));
      later(waitOf(next));
    } catch {
      // Until the old one has expired there is time; then the connection is made anew.
      if (socket.readyState === OPEN) later(RENEWAL_AGAIN_MS);
    }
  };
  later(waitOf(first));
  return { stop: () => clearTimeout(timer) };
}

function waitOf({ lifetimeMs }: GoodToken): number | null {
  return lifetimeMs === null ? null : Math.max(LEAST_RENEWAL_MS, lifetimeMs * RENEWED_AFTER);
}

/** Keeps events until they are taken. What came before the end is given before the end is told of. */
function createInbox() {
  const waiting: FeedEvent[] = [];
  let ended: string | null = null;
  let wake = () => {};
  return {
    /** False where too many wait already. */
    put(event: FeedEvent): boolean {
      if (waiting.length >= MOST_WAITING) return false;
      if (ended === null) waiting.push(event);
      wake();
      return true;
    },
    end(why: string): void {
      ended ??= why;
      wake();
    },
    async next(quietMs: number): Promise<FeedEvent | null> {
      if (waiting.length === 0 && ended === null && quietMs > 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, quietMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      const event = waiting.shift();
      if (event) return event;
      if (ended !== null) throw new WayFailed(ended);
      return null;
    },
  };
}

/** A promise that is settled from outside, once. */
function createSettling() {
  let isOpen = true;
  let succeed = () => {};
  let fail: (error: Error) => void = () => {};
  const done = new Promise<void>((resolve, reject) => {
    succeed = resolve;
    fail = reject;
  });
  // It may fail before anybody waits for it.
  done.catch(() => {});
  const settle = <A extends unknown[]>(way: (...args: A) => void) => {
    return (...args: A) => {
      isOpen = false;
      way(...args);
    };
  };
  return {
    done,
    succeed: settle(() => succeed()),
    fail: settle((error: Error) => fail(error)),
    isOpen: () => isOpen,
  };
}

function parsed(data: unknown): Message {
  try {
    const message: unknown = JSON.parse(String(data));
    return message !== null && typeof message === 'object' ? message : {};
  } catch {
    return {};
  }
}
