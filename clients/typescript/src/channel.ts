import { CHANNEL_PATH } from './vocabulary.ts';
import { lifetimeOf, RENEWAL_SHARE, type TimedToken } from './credentials.ts';
import { pathOf, type Http } from './http.ts';
import { BatonProblem } from './problem.ts';
import { isTransient } from './retry.ts';
import { TransportFailed } from './transport-failed.ts';
import type { FeedEvent, Token } from './types.ts';

/** The part of a WebSocket that the client uses. Browsers, Node 22 and newer, and the package `ws` provide it. */
export type WebSocketLike = {
  readonly readyState: number;
  send(data: string): void;
  close(code?: number): void;
  // oxlint-disable-next-line typescript/no-explicit-any -- each WebSocket implementation has its own event types
  addEventListener(type: string, listener: (event: any) => void): void;
};
export type WebSocketConstructor = new (address: string) => WebSocketLike;

export type ChannelDependencies = {
  WebSocket: WebSocketConstructor | null;
  /** The address of the channel without the token, `wss://…/ws`. */
  url: string;
  /** The project of the tokens. An API key does not need it, because a key belongs to one project. */
  projectId?: string | undefined;
};

/** A joined room. */
export type Room = {
  /**
   * Returns the next event, or null if none arrives within `timeoutMs`.
   * @throws TransportFailed if the connection has ended and all received events were returned
   */
  next(timeoutMs: number): Promise<FeedEvent | null>;
  close(): void;
};

type Message = { type?: string; event?: FeedEvent; code?: string; message?: string };

const OPEN = 1;
/** The time limit for the upgrade and the response to `join`, together. */
const JOIN_LIMIT_MS = 10_000;
const MIN_RENEWAL_DELAY_MS = 1_000;
const RENEWAL_RETRY_MS = 5_000;
/** If the caller leaves more events unread, the connection is closed and made again after the last event that it read. */
const MAX_QUEUED_EVENTS = 5_000;

/** Returns the WebSocket address of the channel on the host of an API. */
export function channelUrlOf(baseUrl: string): string {
  return baseUrl.replace(/^http/, 'ws') + CHANNEL_PATH;
}

/**
 * Joins a task's room to receive the events after the `seq` in `after`. Renews the token while the connection is open.
 * @throws TransportFailed if the channel is not available
 * @throws BatonUnreachable, or a transient BatonProblem, if the token request fails
 */
export async function joinRoom(
  http: Http,
  { WebSocket, url, projectId }: ChannelDependencies,
  { id, after, signal }: { id: string; after: number; signal?: AbortSignal | undefined },
): Promise<Room> {
  if (WebSocket === null) throw new TransportFailed('No WebSocket implementation is available.', true);
  const token = await requestToken(http, projectId, signal);
  signal?.throwIfAborted();
  const socket = new WebSocket(`${url}?token=${encodeURIComponent(token.token)}`);
  const queue = createEventQueue();
  const joined = createDeferred();
  const end = (reason: string, isPermanent = false) => {
    joined.reject(new TransportFailed(reason, isPermanent));
    queue.end(reason);
    clearTimeout(joinTimer);
    renewal.stop();
    signal?.removeEventListener('abort', close);
    socket.close();
  };
  const close = () => end('The connection was closed.');
  // Permanent: a proxy or firewall blocks WebSockets, and a second attempt would also run into the timeout.
  const joinTimer = setTimeout(() => end('The live channel did not respond in time.', true), JOIN_LIMIT_MS);
  const renewal = keepTokenValid(socket, token, () => requestToken(http, projectId, signal));
  signal?.addEventListener('abort', close, { once: true });
  socket.addEventListener('open', () =>
    socket.send(JSON.stringify({ type: 'join', room: `workflow:${id}`, after })),
  );
  socket.addEventListener('message', ({ data }: { data: unknown }) => {
    const { type, event, code, message }: Message = parseMessage(data);
    if (type === 'event' && event) {
      if (!queue.push(event)) end('Events arrive faster than they are read.');
    } else if (type === 'joined') {
      clearTimeout(joinTimer);
      joined.resolve();
    } else if (type === 'closed' || (type === 'refused' && joined.isPending())) {
      end(message ?? code ?? 'The live channel rejected the connection.');
    }
  });
  socket.addEventListener('error', ({ message }: { message?: string }) =>
    end(`The live channel is unreachable${message ? ` (${message})` : ''}.`),
  );
  socket.addEventListener('close', () => end('The connection to the live channel was lost.'));
  await joined.promise;
  return { next: queue.next, close };
}

/** Returns a new token from the caller's source of tokens, or from the service if there is no source. */
async function requestToken(
  http: Http,
  projectId: string | undefined,
  signal: AbortSignal | undefined,
): Promise<TimedToken> {
  const body = projectId === undefined ? {} : { body: { project_id: projectId } };
  const request = { method: 'POST', path: pathOf('tokens'), ...body, retries: 0, signal } as const;
  try {
    const ownToken = await http.credentials.freshToken();
    if (ownToken !== null) return ownToken;
    const { token } = await http.json<Token>(request);
    return { token, lifetimeMs: lifetimeOf(token, Date.now()) };
  } catch (error) {
    // Permanent, because the other transports need no token.
    if (error instanceof BatonProblem && !isTransient(error)) {
      throw new TransportFailed(`No token for the live channel: ${error.message}`, true);
    }
    throw error;
  }
}

/** Renews the token of a connection before the current token expires. */
function keepTokenValid(socket: WebSocketLike, first: TimedToken, renewToken: () => Promise<TimedToken>) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const schedule = (ms: number | null) => {
    if (ms !== null) timer = setTimeout(() => void renew(), ms);
  };
  const renew = async () => {
    try {
      const next = await renewToken();
      if (socket.readyState !== OPEN) return;
      socket.send(JSON.stringify({ type: 'renew', token: next.token }));
      schedule(renewalDelayMs(next));
    } catch {
      // The current token is still valid. When it expires, the server closes the connection and the client reconnects.
      if (socket.readyState === OPEN) schedule(RENEWAL_RETRY_MS);
    }
  };
  schedule(renewalDelayMs(first));
  return { stop: () => clearTimeout(timer) };
}

function renewalDelayMs({ lifetimeMs }: TimedToken): number | null {
  return lifetimeMs === null ? null : Math.max(MIN_RENEWAL_DELAY_MS, lifetimeMs * RENEWAL_SHARE);
}

/**
 * Creates a queue of received events. After the connection has ended, `next` first returns the queued events, then
 * throws.
 */
function createEventQueue() {
  const events: FeedEvent[] = [];
  let endReason: string | null = null;
  let wake = () => {};
  return {
    /** Adds an event, unless the connection has ended. Returns false if the queue is full. */
    push(event: FeedEvent): boolean {
      if (events.length >= MAX_QUEUED_EVENTS) return false;
      if (endReason === null) events.push(event);
      wake();
      return true;
    },
    end(reason: string): void {
      endReason ??= reason;
      wake();
    },
    async next(timeoutMs: number): Promise<FeedEvent | null> {
      if (events.length === 0 && endReason === null && timeoutMs > 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, timeoutMs);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      const event = events.shift();
      if (event) return event;
      if (endReason !== null) throw new TransportFailed(endReason);
      return null;
    },
  };
}

/** Creates a promise that the caller resolves or rejects. Only the first call has an effect. */
function createDeferred() {
  let isPending = true;
  let onResolve = () => {};
  let onReject: (error: Error) => void = () => {};
  const promise = new Promise<void>((resolve, reject) => {
    onResolve = resolve;
    onReject = reject;
  });
  // Prevents an unhandled rejection if the promise is rejected before it is awaited.
  promise.catch(() => {});
  return {
    promise,
    resolve() {
      isPending = false;
      onResolve();
    },
    reject(error: Error) {
      isPending = false;
      onReject(error);
    },
    isPending: () => isPending,
  };
}

function parseMessage(data: unknown): Message {
  try {
    const message: unknown = JSON.parse(String(data));
    return message !== null && typeof message === 'object' ? message : {};
  } catch {
    return {};
  }
}
