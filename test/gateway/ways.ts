import type { ManagerOptions } from 'socket.io-client';
import { connectSocketIo } from '../support/channel-clients.ts';
import { WAIT_TIMEOUT_MS } from '../support/eventually.ts';
import { inTime } from '../support/following.ts';
import { NotUpgraded, openPlain } from '../support/plain-channel.ts';

/** A reply of the channel, in the same form for every transport. */
export type Replied = {
  ok: boolean;
  code?: string;
  message?: string;
  room?: string | null;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read answers of every shape
  [member: string]: any;
};

/** A connection that sends valid and invalid requests. */
export type Speaker = {
  ask(type: string, body: unknown): Promise<Replied>;
  /** Sends without waiting; `onReply` is called with the reply. */
  send(type: string, body: unknown, onReply?: (reply: Replied) => void): void;
  /** The code with which the channel closed the connection, or null. */
  closed: Promise<string | null>;
  close(): Promise<void>;
};

/** One transport of the channel. */
export type Way = {
  name: string;
  /** @throws Error whose `message` is the channel's code */
  open(url: string, token: string | null): Promise<Speaker>;
};

export const WAYS: readonly Way[] = [
  { name: 'a plain WebSocket', open: openPlainly },
  { name: 'Socket.IO by WebSocket', open: (url, token) => openSocketIo(url, token, ['websocket']) },
  { name: 'Socket.IO by polling', open: (url, token) => openSocketIo(url, token, ['polling']) },
];

async function openPlainly(url: string, token: string | null): Promise<Speaker> {
  const plain = await openPlain(url, token).catch((error: unknown) => {
    if (!(error instanceof NotUpgraded)) throw error;
    throw new Error(JSON.parse(error.body).code, { cause: error });
  });
  const waiting = new Map<string, (reply: Replied) => void>();
  let code: string | null = null;
  let last = 0;
  plain.socket.on('message', (data: Buffer) => {
    const { type, id, ...rest } = JSON.parse(data.toString());
    if (type === 'closed') code = rest.code;
    waiting.get(id)?.({ ok: type !== 'refused', ...rest });
    waiting.delete(id);
  });
  const send: Speaker['send'] = (type, body, onReply) => {
    const id = `way-${++last}`;
    if (onReply) waiting.set(id, onReply);
    plain.say({ type, id, ...(body as object) });
  };
  return {
    send,
    ask: (type, body) => inTime(`asking to ${type}`, new Promise((resolve) => send(type, body, resolve))),
    closed: plain.closed.then(({ reason }) => code ?? (reason || null)),
    close: plain.close,
  };
}

async function openSocketIo(
  url: string,
  token: string | null,
  transports: NonNullable<ManagerOptions['transports']>,
): Promise<Speaker> {
  const socket = connectSocketIo(url, token, { transports });
  const closed = Promise.withResolvers<string | null>();
  let code: string | null = null;
  socket.on('closed', (last: { code: string }) => (code = last.code));
  socket.on('disconnect', () => closed.resolve(code));
  const connected = new Promise<void>((resolve, reject) => {
    socket.on('connect', resolve);
    socket.on('connect_error', (error: Error & { data?: { code: string; message: string } }) => {
      socket.disconnect();
      const isWhole = error.data?.code === error.message && error.data.message !== '';
      reject(isWhole ? error : new Error(`an incomplete refusal: ${error.message}`, { cause: error }));
    });
  });
  await inTime('connecting by Socket.IO', connected);
  return {
    ask: (type, body) => socket.timeout(WAIT_TIMEOUT_MS).emitWithAck(type, body),
    send: (type, body, onReply) => void socket.emit(type, body, onReply),
    closed: closed.promise,
    async close() {
      socket.disconnect();
    },
  };
}
