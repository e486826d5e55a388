import { once } from 'node:events';
import { WebSocket, type ClientOptions } from 'ws';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import { inTime, plainAddress } from './following.ts';
import { eventually } from './eventually.ts';

/** A message of the channel to a plain client, loosely typed on purpose. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests read messages of every shape
export type PlainMessage = { type: string; [member: string]: any };

/** A plain WebSocket to the channel that can send valid and invalid messages. */
export type PlainChannel = {
  socket: WebSocket;
  /** All received messages, oldest first. */
  messages: readonly PlainMessage[];
  /** Returns the received events of one run. */
  eventsOf(executionId: string): FeedEvent[];
  /** Sends an object as JSON, and anything else unchanged. */
  say(message: object | string | Buffer): void;
  /** Sends a message and waits for its response, which has the same `id`. */
  ask(message: { type: string; [member: string]: unknown }): Promise<PlainMessage>;
  /** Waits for the first message of a type that no earlier call has returned. */
  hears(type: string): Promise<PlainMessage>;
  /** The close code and reason of the connection. */
  closed: Promise<{ code: number; reason: string }>;
  close(): Promise<void>;
};

/** Opens a connection. @throws {@link NotUpgraded} if the response is an HTTP response */
export async function openPlain(
  url: string,
  token: string | null,
  options: ClientOptions = {},
): Promise<PlainChannel> {
  const address = token === null ? plainAddress(url, '').replace(/\?.*/, '') : plainAddress(url, token);
  const socket = new WebSocket(address, options);
  const messages: PlainMessage[] = [];
  const closed = Promise.withResolvers<{ code: number; reason: string }>();
  socket.on('close', (code, reason) => closed.resolve({ code, reason: String(reason) }));
  socket.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString())));
  const opened = Promise.withResolvers<void>();
  socket.on('open', opened.resolve);
  socket.on('error', (error) => opened.reject(error));
  socket.on('unexpected-response', (_request, response) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('end', () => {
      const { statusCode = 0, headers } = response;
      opened.reject(new NotUpgraded(statusCode, headers, Buffer.concat(chunks).toString()));
    });
  });
  await inTime('opening a WebSocket', opened.promise);

  let lastId = 0;
  const returned = new Set<PlainMessage>();
  const waitFor = async (what: string, isIt: (message: PlainMessage) => boolean) => {
    const found = await eventually(
      what,
      () => messages.find((message) => !returned.has(message) && isIt(message)) ?? null,
    );
    returned.add(found);
    return found;
  };
  const say: PlainChannel['say'] = (message) =>
    socket.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message));
  return {
    socket,
    messages,
    closed: closed.promise,
    say,
    eventsOf: (executionId) =>
      messages.flatMap(({ type, event }) =>
        type === 'event' && event.execution_id === executionId ? [event as FeedEvent] : [],
      ),
    async ask(message) {
      const id = `ask-${++lastId}`;
      say({ ...message, id });
      return await waitFor(`the response to ${message.type}`, (received) => received['id'] === id);
    },
    hears: (type) => waitFor(`a message of the type ${type}`, (received) => received.type === type),
    async close() {
      if (socket.readyState === WebSocket.CLOSED) return;
      const ended = once(socket, 'close');
      socket.close();
      await inTime('closing a WebSocket', ended);
    },
  };
}

/** The server returned an HTTP response instead of a WebSocket. */
export class NotUpgraded extends Error {
  override name = 'NotUpgraded';
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
  constructor(status: number, headers: NodeJS.Dict<string | string[]>, body: string) {
    super(`returned ${status}: ${body}`);
    this.status = status;
    this.headers = headers;
    this.body = body;
  }
}
