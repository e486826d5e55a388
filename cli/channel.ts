import WebSocket from 'ws';
import { CHANNEL_PATH, type PushedMessages } from '../src/domain/channel/channel.ts';
import { type ChannelError, endOf, errorOf, connectionLost, refusedUpgrade } from './channel-error.ts';
import { newToken, type Token } from './channel-token.ts';
import type { Api } from './http.ts';

type PushedNames = Exclude<keyof PushedMessages, 'event' | 'closed'>;
/** Unsolicited messages of the server. A `closed` message becomes the error that ends `pushed`. */
export type PushedMessage =
  | { type: 'event'; event: PushedMessages['event'] }
  | { [Name in PushedNames]: { type: Name } & PushedMessages[Name] }[PushedNames];

/** Types of messages that are not replies. */
const PUSHED = { event: true, request: true, listening_ended: true, closed: true } as const satisfies Record<
  keyof PushedMessages,
  true
>;

/** A connection to the live channel, over a plain WebSocket. */
export type Channel = {
  /** Sends a message and returns its reply. @throws ChannelError if it is rejected or no reply arrives */
  ask(type: string, members: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** Pushed messages in order, for one reader. Ends after `close()`; throws the ChannelError of any other end. */
  pushed: AsyncIterable<PushedMessage>;
  close(): void;
};

/** Timeouts and intervals in milliseconds. */
export type ChannelTimes = {
  /** Timeout of the upgrade and of each reply. */
  answer: number;
  /** After this silence a ping is sent; after twice as long the connection is dead. */
  silence: number;
  /** When a token is renewed; null: after two thirds of its lifetime. */
  renewal: number | null;
  /** When a failed renewal is tried again. */
  renewalRetry: number;
};
const TIMES: ChannelTimes = { answer: 15_000, silence: 20_000, renewal: null, renewalRetry: 5_000 };
const CLOSE_TIMEOUT_MS = 500;

/**
 * Connects with its own token, which it renews while the connection is open. `projectId` is required for users; a key
 * has its own project.
 * @throws CliError if the token cannot be created, ChannelError if the connection fails
 */
export async function openChannel(
  api: Api,
  { projectId, times = {} }: { projectId?: string; times?: Partial<ChannelTimes> } = {},
): Promise<Channel> {
  const all = { ...TIMES, ...times };
  const token = await newToken(api, projectId);
  const socket = await connect(api.baseUrl, token, all.answer);
  const channel = createChannel(socket, all);
  keepTokenFresh(socket, token, all, async () => {
    const next = await newToken(api, projectId);
    await channel.ask('renew', { token: next.token });
    return next;
  });
  return channel;
}

function connect(baseUrl: string, { token }: Token, timeoutMs: number): Promise<WebSocket> {
  const url = new URL(baseUrl + CHANNEL_PATH);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new WebSocket(url, {
    // Not in the URL, which proxies may log.
    headers: { authorization: `Bearer ${token}` },
    handshakeTimeout: timeoutMs,
    perMessageDeflate: false,
  });
  // Paused until there is a listener: messages can arrive in the same packet as the upgrade response.
  socket.once('open', () => socket.pause());
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve(socket));
    socket.once('unexpected-response', (_request, response) => {
      // A keep-alive connection would delay the end of the command.
      const { socket: line } = response;
      void refusedUpgrade(response).then((error) => {
        line.destroy();
        reject(error);
      });
    });
    // Never removed: later errors are reported by the close that follows.
    socket.on('error', (error) => reject(connectionLost(error.message)));
  });
}

/** Renews the token until the socket closes. A failed renewal is retried while the old token may still be valid. */
function keepTokenFresh(
  socket: WebSocket,
  first: Token,
  { renewal: afterMs, renewalRetry: retryMs }: ChannelTimes,
  renew: () => Promise<Token>,
): void {
  let timer: NodeJS.Timeout;
  const later = (ms: number) => {
    timer = setTimeout(() => {
      void renew()
        .then(waitOf, () => retryMs)
        .then((wait) => socket.readyState === WebSocket.OPEN && later(wait));
    }, ms);
  };
  const waitOf = ({ lifetimeMs }: Token) => afterMs ?? (lifetimeMs * 2) / 3;
  later(waitOf(first));
  socket.once('close', () => clearTimeout(timer));
}

function createChannel(socket: WebSocket, { answer: answerMs, silence: silenceMs }: ChannelTimes): Channel {
  const questions = createPendingReplies();
  const inbox = createInbox();
  let lastWords: ChannelError | null = null;
  let isClosedHere = false;
  const endWith = (error: ChannelError) => {
    questions.end(error);
    inbox.end(isClosedHere ? null : error);
  };
  watchLiveness(socket, silenceMs, () => endWith(connectionLost('no heartbeat')));
  socket.on('close', (_status, reason) => endWith(lastWords ?? endOf(reason.toString())));
  socket.on('message', (data, isBinary) => {
    const message = isBinary ? null : parsed((data as Buffer).toString());
    if (message === null) return;
    if (!Object.hasOwn(PUSHED, String(message['type']))) questions.answer(message);
    else if (message['type'] === 'closed') lastWords = errorOf(message);
    else inbox.put(message as unknown as PushedMessage);
  });
  socket.resume();

  return {
    async ask(type, members) {
      const { id, answer } = questions.open();
      socket.send(JSON.stringify({ type, ...members, id }));
      const timer = setTimeout(() => {
        endWith(connectionLost(`no response to \`${type}\` within ${answerMs / 1_000} s`));
        socket.terminate();
      }, answerMs);
      return await answer.finally(() => clearTimeout(timer));
    },
    pushed: inbox.messages,
    close() {
      if (socket.readyState === WebSocket.CLOSED) return;
      isClosedHere = true;
      endWith(connectionLost('connection closed'));
      socket.close(1000);
      // A server that does not answer the close must not delay the end of the command.
      const timer = setTimeout(() => socket.terminate(), CLOSE_TIMEOUT_MS);
      socket.once('close', () => clearTimeout(timer));
    },
  };
}

/** The messages that wait for replies, by `id`. */
function createPendingReplies() {
  type Asker = { resolve(answer: Record<string, unknown>): void; reject(error: ChannelError): void };
  const askers = new Map<string, Asker>();
  let ended: ChannelError | null = null;
  let asked = 0;
  return {
    /** @throws ChannelError if the connection has ended */
    open(): { id: string; answer: Promise<Record<string, unknown>> } {
      if (ended !== null) throw ended;
      const id = String(++asked);
      const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>();
      askers.set(id, { resolve, reject });
      return { id, answer: promise };
    },
    answer(message: Record<string, unknown>): void {
      const asker = askers.get(String(message['id']));
      askers.delete(String(message['id']));
      if (message['type'] === 'refused') asker?.reject(errorOf(message));
      else asker?.resolve(message);
    },
    end(error: ChannelError): void {
      ended ??= error;
      for (const asker of askers.values()) asker.reject(ended);
      askers.clear();
    },
  };
}

/** Queues pushed messages for their reader. */
function createInbox() {
  const arrived: PushedMessage[] = [];
  let wake = () => {};
  let end: { error: ChannelError | null } | null = null;
  const ended = () => end;
  async function* read(): AsyncGenerator<PushedMessage> {
    for (;;) {
      for (let next = arrived.shift(); next !== undefined; next = arrived.shift()) yield next;
      const over = ended();
      if (over?.error) throw over.error;
      if (over) return;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  }
  return {
    messages: read(),
    put(message: PushedMessage): void {
      arrived.push(message);
      wake();
    },
    /** Ends the queue, once; without an error if it is null. */
    end(error: ChannelError | null): void {
      end ??= { error };
      wake();
    },
  };
}

/** Pings a silent connection, because the system may not notice a dead one for many minutes. */
function watchLiveness(socket: WebSocket, silenceMs: number, onDead: () => void): void {
  let silences = 0;
  const alive = () => void (silences = 0);
  for (const sign of ['message', 'ping', 'pong']) socket.on(sign, alive);
  const timer = setInterval(() => {
    if (++silences === 1) return socket.ping();
    onDead();
    socket.terminate();
  }, silenceMs);
  socket.once('close', () => clearInterval(timer));
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const message: unknown = JSON.parse(text);
    return message !== null && typeof message === 'object' ? (message as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
