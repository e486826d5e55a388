import WebSocket from 'ws';
import { CHANNEL_PATH, type PushedMessages } from '../src/domain/channel/channel.ts';
import { type ChannelError, endOf, errorOf, lost, refusedUpgrade } from './channel-error.ts';
import { newToken, type Token } from './channel-token.ts';
import type { Api } from './http.ts';

type PushedNames = Exclude<keyof PushedMessages, 'event' | 'closed'>;
/** What the server sends unasked; its last words become the error in which `pushed` ends. */
export type PushedMessage =
  | { type: 'event'; event: PushedMessages['event'] }
  | { [Name in PushedNames]: { type: Name } & PushedMessages[Name] }[PushedNames];

/** What is no answer. */
const PUSHED = { event: true, request: true, listening_ended: true, closed: true } as const satisfies Record<
  keyof PushedMessages,
  true
>;

/** One connection to the live channel, over a plain WebSocket. */
export type Channel = {
  /** Sends a message and gives its answer. @throws ChannelError where it is refused, or no answer comes */
  ask(type: string, members: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** In order, for one reader. Ends with `close()`; throws the ChannelError of any other end. */
  pushed: AsyncIterable<PushedMessage>;
  close(): void;
};

/** In milliseconds. */
export type ChannelTimes = {
  /** The upgrade, and each answer. */
  answer: number;
  /** Silence after which a sign of life is asked for; twice that long, and the connection is dead. */
  silence: number;
  /** How soon a token is renewed; null: when two thirds of its time are over. */
  renewal: number | null;
};
const TIMES: ChannelTimes = { answer: 15_000, silence: 20_000, renewal: null };
/** How soon a renewal is tried again that failed, in milliseconds. */
const RENEWAL_AGAIN_MS = 5_000;
const FAREWELL_MS = 500;

/**
 * Connects with a token of its own, which it renews for as long as it is open. `projectId` is needed for people; a
 * key has its own.
 * @throws CliError where no token can be had, ChannelError where the channel can not
 */
export async function openChannel(
  api: Api,
  { projectId, times = {} }: { projectId?: string; times?: Partial<ChannelTimes> } = {},
): Promise<Channel> {
  const all = { ...TIMES, ...times };
  const token = await newToken(api, projectId);
  const socket = await connect(api.baseUrl, token, all.answer);
  const channel = speak(socket, all);
  keepFresh(socket, token, all.renewal, async () => {
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
    // Not in the address, where logs of proxies would keep it.
    headers: { authorization: `Bearer ${token}` },
    handshakeTimeout: timeoutMs,
    perMessageDeflate: false,
  });
  // Held until somebody listens: messages may come in the same packet as the upgrade's answer.
  socket.once('open', () => socket.pause());
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve(socket));
    socket.once('unexpected-response', (_request, response) => {
      // Kept alive, it would keep the command for as long.
      const { socket: line } = response;
      void refusedUpgrade(response).then((error) => {
        line.destroy();
        reject(error);
      });
    });
    // Stays for good: what fails later is told by the close that follows.
    socket.on('error', (error) => reject(lost(error.message)));
  });
}

/** Renews until the socket closes; a renewal that fails is tried again while the old token may still be good. */
function keepFresh(
  socket: WebSocket,
  first: Token,
  afterMs: number | null,
  renew: () => Promise<Token>,
): void {
  let timer: NodeJS.Timeout;
  const later = (ms: number) => {
    timer = setTimeout(() => {
      void renew()
        .then(waitOf, () => RENEWAL_AGAIN_MS)
        .then((wait) => socket.readyState === WebSocket.OPEN && later(wait));
    }, ms);
  };
  const waitOf = ({ lifetimeMs }: Token) => afterMs ?? (lifetimeMs * 2) / 3;
  later(waitOf(first));
  socket.once('close', () => clearTimeout(timer));
}

function speak(socket: WebSocket, { answer: answerMs, silence: silenceMs }: ChannelTimes): Channel {
  const questions = createQuestions();
  const inbox = createInbox();
  let lastWords: ChannelError | null = null;
  let isClosedHere = false;
  const endWith = (error: ChannelError) => {
    questions.end(error);
    inbox.end(isClosedHere ? null : error);
  };
  watchLife(socket, silenceMs, () => endWith(lost('no sign of life')));
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
        endWith(lost(`no response to \`${type}\` within ${answerMs / 1_000} s`));
        socket.terminate();
      }, answerMs);
      return await answer.finally(() => clearTimeout(timer));
    },
    pushed: inbox.messages,
    close() {
      if (socket.readyState === WebSocket.CLOSED) return;
      isClosedHere = true;
      endWith(lost('connection closed'));
      socket.close(1000);
      // One that does not answer the farewell must not keep the command.
      const timer = setTimeout(() => socket.terminate(), FAREWELL_MS);
      socket.once('close', () => clearTimeout(timer));
    },
  };
}

/** The messages that wait for their answers, by `id`. */
function createQuestions() {
  type Asker = { resolve(answer: Record<string, unknown>): void; reject(error: ChannelError): void };
  const askers = new Map<string, Asker>();
  let ended: ChannelError | null = null;
  let asked = 0;
  return {
    /** @throws ChannelError where the connection has ended */
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

/** Keeps what is pushed until its reader takes it. */
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
    /** Once only: quietly with null. */
    end(error: ChannelError | null): void {
      end ??= { error };
      wake();
    },
  };
}

/** A connection can be dead for many minutes before the system notices: asks for a pong where nothing comes. */
function watchLife(socket: WebSocket, silenceMs: number, onDead: () => void): void {
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
