import type { Logger } from 'pino';
import type { z } from 'zod';
import type { Database } from '../database/database.ts';
import { findTokenHolder, type TokenHolder } from '../database/people/token-holders.ts';
import { parseRoom, ROOM_SCOPES, type ChannelCode, type RoomKind } from '../domain/channel/channel.ts';
import { joinMessage, leaveMessage, renewMessage } from '../domain/channel/channel-schemas.ts';
import {
  CHANNEL_MESSAGES,
  CHANNEL_PENDING_BYTES,
  CHANNEL_STALL_MS,
  MAX_ROOMS,
  MAX_WAITING_MESSAGES,
} from '../domain/common/limits.ts';
import { createRateLimiter } from '../domain/common/rate-limiter.ts';
import { credentialIdsOf } from '../domain/people/access.ts';
import type { Admission, AdmissionControl } from './admission.ts';
import { describeError, isObject, roomNamed, shortened } from './client-messages.ts';
import type { Connection } from './connection.ts';
import { refusal, type Client, type Handled, type Handler } from './handlers.ts';
import type { RoomOpener } from './rooms.ts';

/** The dependencies of a connected client. */
export type ClientDependencies = {
  database: Database;
  admission: AdmissionControl;
  rooms: Record<RoomKind, RoomOpener>;
  /** Handlers of messages other than those of rooms and tokens. */
  handlers: Readonly<Record<string, Handler>>;
  clock: () => Date;
  log: Logger;
  /** After this time in milliseconds, a client that receives nothing is disconnected. */
  stallMs?: number;
};

/** The result of a message: the reply, and what starts after it. */
export type MessageResult = { replyType: string } & Handled;
/** A checked message: its result, or the work for its turn. */
type Work = MessageResult | (() => Promise<MessageResult>);
type WaitingMessage = { type: string; room: string | null; work: Work };

/** Maximum delay of a Node timer. */
const MAX_TIMER_MS = 2_147_483_647;
/** Number of consecutive rate-limited messages after which the connection is closed. */
const MAX_REFUSED_IN_A_ROW = 1_000;

type Admitted = Extract<Admission, { ok: true }>;

/**
 * One connection from admission to close: its rooms, its token, the rate of its messages. Messages are handled one
 * after another.
 */
export class ConnectedClient {
  readonly connection: Connection;
  readonly #deps: ClientDependencies;
  readonly #admitted: Admitted;
  readonly #rooms = new Map<string, () => void>();
  readonly #onceClosed = new Set<() => void>();
  readonly #onHolder = new Set<(holder: TokenHolder) => void>();
  readonly #limiter;
  #claims: Admitted['claims'];
  #expiry: NodeJS.Timeout | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  /** Number of messages that wait for their turn or are handled. */
  #waiting = 0;
  #refusedInARow = 0;
  #isClosed = false;

  constructor(deps: ClientDependencies, connection: Connection, admitted: Admitted) {
    this.#deps = deps;
    this.connection = connection;
    this.#admitted = admitted;
    this.#claims = admitted.claims;
    this.#limiter = createRateLimiter({ name: 'messages', ...CHANNEL_MESSAGES }, deps.clock);
    this.#waitForExpiry();
  }

  /** Returns whether the token ends with the key, session or person with this id. */
  dependsOn(id: string): boolean {
    return credentialIdsOf(this.#claims).includes(id);
  }

  /** Handles a client message; `answer` is called once with the result. */
  receive(type: string, body: unknown, answer: (answer: MessageResult) => void): void {
    if (this.#isClosed) return;
    if (this.#waiting >= MAX_WAITING_MESSAGES || !this.#limiter.take('').granted) {
      this.#refusedInARow += 1;
      // A client that does not read the rejections is disconnected.
      const isNotReading = this.connection.pendingBytes() > CHANNEL_PENDING_BYTES;
      if (isNotReading || this.#refusedInARow > MAX_REFUSED_IN_A_ROW)
        return this.connection.close('rate_limited');
      return answer({ replyType: 'refused', reply: refusal('rate_limited', roomNamed(body)) });
    }
    this.#refusedInARow = 0;
    this.#waiting += 1;
    // The body is not kept while the message waits.
    this.#turn = this.#handleInTurn(this.#turn, this.#read(type, body), answer).finally(() => {
      this.#waiting -= 1;
    });
  }

  /** Checks whether the token still has a holder; closes the connection if not. */
  async recheck(): Promise<TokenHolder | null> {
    const holder = await findTokenHolder(this.#deps.database, this.#claims);
    if (!holder) this.connection.close('token_invalid');
    else for (const listener of this.#onHolder) listener(holder);
    return holder;
  }

  /** Cleans up after the connection was closed. */
  closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#expiry);
    for (const stop of this.#rooms.values()) stop();
    this.#rooms.clear();
    for (const listener of this.#onceClosed) listener();
    this.#admitted.release();
  }

  async #handleInTurn(
    before: Promise<unknown>,
    message: WaitingMessage,
    answer: (answer: MessageResult) => void,
  ): Promise<void> {
    await before;
    await this.#untilDrained();
    if (this.#isClosed) return;
    const done = await this.#handle(message);
    // The connection may have been closed during the handling.
    if (this.#isClosed as boolean) return;
    answer(done);
    done.begin?.();
  }

  /**
   * Waits until the client has received the earlier replies. A client that receives nothing for too long is
   * disconnected.
   */
  async #untilDrained(): Promise<void> {
    const { connection } = this;
    if (this.#isClosed || connection.pendingBytes() <= CHANNEL_PENDING_BYTES) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(
      () => connection.close('slow_reader'),
      this.#deps.stallMs ?? CHANNEL_STALL_MS,
    ).unref();
    connection.onceDrained(resolve);
    this.#onceClosed.add(resolve);
    await promise;
    this.#onceClosed.delete(resolve);
    clearTimeout(timer);
  }

  async #handle({ type, room, work }: WaitingMessage): Promise<MessageResult> {
    try {
      return typeof work === 'function' ? await work() : work;
    } catch (error) {
      this.#deps.log.warn({ err: error, type }, 'handling a channel message failed');
      return refused('unavailable', room);
    }
  }

  #read(type: string, body: unknown): WaitingMessage {
    const message = { type: shortened(type), room: roomNamed(body) };
    try {
      return { ...message, work: this.#workOf(type, body) };
    } catch (error) {
      this.#deps.log.warn({ err: error, type: message.type }, 'reading a channel message failed');
      return { ...message, work: refused('unavailable', message.room) };
    }
  }

  #workOf(type: string, body: unknown): Work {
    if (type === '')
      return refused('invalid_message', null, 'A message must be a JSON object with a `type`, sent as text.');
    if (type === 'join') {
      const read = joinMessage.safeParse(body);
      if (!read.success) return refused('invalid_message', roomNamed(body), describeError(type, read.error));
      return () => this.#join(read.data);
    }
    if (type === 'leave') {
      const read = leaveMessage.safeParse(body);
      if (!read.success) return refused('invalid_message', roomNamed(body), describeError(type, read.error));
      return async () => this.#leave(read.data);
    }
    if (type === 'renew') {
      const read = renewMessage.safeParse(body);
      if (!read.success) return refused('invalid_message', null, describeError(type, read.error));
      return () => this.#renew(read.data);
    }
    const handler = Object.hasOwn(this.#deps.handlers, type) ? this.#deps.handlers[type] : undefined;
    if (!handler)
      return refused('invalid_message', null, `Unknown message type: ${JSON.stringify(shortened(type))}.`);
    if (!isObject(body)) return refused('invalid_message', null, `${type} requires an object.`);
    const { replyType, isSolicited } = handler;
    const read = handler.read(this.#client, body);
    if (typeof read !== 'function') return { replyType, reply: read };
    return async () => {
      const handled = await read();
      if (isSolicited && handled.reply.ok) this.#limiter.refund('');
      return { replyType, ...handled };
    };
  }

  async #join({ room: name, after }: z.infer<typeof joinMessage>): Promise<MessageResult> {
    const room = parseRoom(name);
    if (!room) return refused('invalid_room', name);
    if (!this.#rooms.has(name) && this.#rooms.size >= MAX_ROOMS) return refused('too_many_rooms', name);
    const holder = await this.recheck();
    if (!holder) return refused('token_invalid', name);
    const opened = await this.#deps.rooms[room.kind].open(holder, room.id, after ?? null);
    if (opened === 'invalid_message') {
      return refused(opened, name, '`after` is beyond the last event of the run.');
    }
    if (typeof opened === 'string') return refused(opened, name);
    const { snapshot, last_seq, follow } = opened;
    return {
      replyType: 'joined',
      reply: { ok: true, room: name, snapshot, last_seq },
      begin: () => {
        // A repeated join continues from its own `after`.
        this.#rooms.get(name)?.();
        this.#rooms.set(name, follow(this.connection));
      },
    };
  }

  #leave({ room }: z.infer<typeof leaveMessage>): MessageResult {
    this.#rooms.get(room)?.();
    this.#rooms.delete(room);
    return { replyType: 'left', reply: { ok: true, room } };
  }

  async #renew({ token }: z.infer<typeof renewMessage>): Promise<MessageResult> {
    const checked = await this.#deps.admission.check(token);
    if (typeof checked === 'string') return refused(checked);
    const { holder } = this.#admitted;
    if (checked.holder.projectId !== holder.projectId || checked.holder.actor !== holder.actor) {
      return refused('forbidden', null, 'The token is for another project or another user.');
    }
    const needed = [...this.#rooms.keys()].flatMap((name) => parseRoom(name)?.kind ?? []);
    const missing = needed
      .map((kind) => ROOM_SCOPES[kind])
      .find((one) => !checked.holder.scopes.includes(one));
    if (missing)
      return refused(
        'forbidden',
        null,
        `The token lacks the scope ${missing} of a joined room. Leave the room.`,
      );
    this.#claims = checked.claims;
    this.#waitForExpiry();
    return {
      replyType: 'renewed',
      reply: { ok: true, expires_at: checked.claims.expiresAt.toISOString() },
    };
  }

  #waitForExpiry(): void {
    clearTimeout(this.#expiry);
    const left = this.#claims.expiresAt.getTime() - this.#deps.clock().getTime();
    this.#expiry = setTimeout(
      () => {
        if (left > MAX_TIMER_MS) this.#waitForExpiry();
        else this.connection.close('token_expired');
      },
      Math.min(Math.max(0, left), MAX_TIMER_MS),
    ).unref();
  }

  get #client(): Client {
    return {
      connection: this.connection,
      holder: () => this.recheck(),
      onHolder: (listener) => {
        this.#onHolder.add(listener);
        return () => void this.#onHolder.delete(listener);
      },
      onceClosed: (listener) => void this.#onceClosed.add(listener),
    };
  }
}

function refused(code: ChannelCode, room: string | null = null, message?: string): MessageResult {
  return { replyType: 'refused', reply: refusal(code, room, message) };
}
