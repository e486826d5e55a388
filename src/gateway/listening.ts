import type { Logger } from 'pino';
import type { z } from 'zod';
import type { Database } from '../database/connect.ts';
import { beginListening, goOnListening, stopListening, type Until } from '../database/listeners.ts';
import type { Notifications } from '../database/notifications.ts';
import { answerRequest, giveBack, takeRequests } from '../database/relays.ts';
import type { TokenHolder } from '../database/token-holders.ts';
import type { ListeningEnded } from '../domain/channel.ts';
import {
  CHANNEL_PENDING_BYTES,
  DELIVERY_TIMEOUT_MS,
  LISTENING_SIGN_MS,
  MAX_LISTENED,
} from '../domain/limits.ts';
import { answerMessage, listenMessage } from '../domain/listening-schemas.ts';
import type { Connection } from './connection.ts';
import { refusal, type Client, type Handler } from './handlers.ts';
import { Message } from './message.ts';

/** Hands deliveries over to who listens to their webhooks, and takes the answers. */
export type Listening = {
  handlers: { listen: Handler; answer: Handler };
  /** Resolves when what the connections of this process have left is written down. */
  close(): Promise<void>;
};

type Means = { database: Database; notifications: Notifications; log: Logger };

/** Requests taken at once: each may be as long as an event. */
const BATCH = 4;

/** A connection that listens to a webhook. */
type Listener = { connection: Connection; end(reason: ListeningEnded['reason'] | null): void };

export function createListening({ database, notifications, log }: Means): Listening {
  /** By webhook; the connection that asked last. */
  const listeners = new Map<string, Listener>();
  /** Requests that were handed over and may be answered still, by id. */
  const handedOver = new Map<string, { connection: Connection; at: number }>();
  const watched = new WeakSet<Connection>();
  /** What is being written of connections that have ended. */
  const farewells = new Set<Promise<void>>();

  function countOf(connection: Connection): number {
    return Iterator.from(listeners.values()).filter((one) => one.connection === connection).toArray().length;
  }

  function watch({ connection, onceClosed }: Client): void {
    if (watched.has(connection)) return;
    watched.add(connection);
    onceClosed(() => {
      for (const one of listeners.values()) if (one.connection === connection) one.end(null);
      for (const [id, { connection: to }] of handedOver) if (to === connection) handedOver.delete(id);
    });
  }

  function follow(client: Client, webhookId: string, begun: Until): void {
    const { connection } = client;
    let until = begun;
    let isOver = false;
    let isTaking = false;
    let isMore = false;
    let timer = setTimeout(() => void sign(), LISTENING_SIGN_MS);
    const unsubscribe = notifications.subscribe('relay', webhookId, (_id, rest) => {
      // Behind the id stands the sign of who listens from now on, or nothing where a request waits.
      if (rest === null || rest === '') void take();
      else if (rest > until) listener.end('replaced');
    });
    const listener: Listener = {
      connection,
      end(reason) {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        unsubscribe();
        if (listeners.get(webhookId) === listener) listeners.delete(webhookId);
        if (reason) {
          connection.send(Message.of('listening_ended', { webhook_id: webhookId, reason }));
        } else {
          remember(stopListening(database, { webhookId, until }));
        }
      },
    };

    /** Says that somebody listens, for as long as the token allows it. */
    async function sign(): Promise<void> {
      try {
        const holder = await client.holder();
        if (isOver) return;
        if (!holder || !mayListen(holder)) return listener.end('gone');
        const signed = await goOnListening(database, { webhookId, until });
        if (typeof signed === 'string') return listener.end(signed);
        until = signed.until;
      } catch (error) {
        log.warn({ err: error, webhook_id: webhookId }, 'a listener could not be noted');
      }
      forgetOld();
      if (isOver) return;
      timer = setTimeout(() => void sign(), LISTENING_SIGN_MS);
      await take();
    }

    /** Hands over what waits, as fast as the client takes it. */
    async function take(): Promise<void> {
      isMore = true;
      if (isTaking) return;
      isTaking = true;
      while (isMore && !isOver) {
        isMore = false;
        if (connection.pendingBytes() > CHANNEL_PENDING_BYTES) connection.onceDrained(() => void take());
        else isMore = await takeSome();
      }
      isTaking = false;
    }

    async function takeSome(): Promise<boolean> {
      try {
        const requests = await takeRequests(database, webhookId, BATCH);
        if (isOver) {
          if (requests.length > 0) await giveBack(database, webhookId, requests);
          return false;
        }
        for (const request of requests) {
          handedOver.set(request.id, { connection, at: performance.now() });
          connection.send(Message.of('request', request));
        }
        return isMore || requests.length === BATCH;
      } catch (error) {
        // They wait for the next sign.
        log.warn({ err: error, webhook_id: webhookId }, 'requests for a listener could not be read');
        return false;
      }
    }

    const earlier = listeners.get(webhookId);
    listeners.set(webhookId, listener);
    if (earlier) earlier.end('replaced');
    void take();
  }

  function remember(writing: Promise<void>): void {
    const done = writing
      .catch((error: unknown) => log.warn({ err: error }, 'the end of a listener could not be noted'))
      .finally(() => farewells.delete(done));
    farewells.add(done);
  }

  /** Nobody waits for answers that come so late. */
  function forgetOld(): void {
    const before = performance.now() - 2 * DELIVERY_TIMEOUT_MS;
    for (const [id, { at }] of handedOver) if (at < before) handedOver.delete(id);
  }

  const listen: Handler = {
    answeredAs: 'listening',
    async handle(client, body) {
      const read = listenMessage.safeParse(withoutOwnId(body));
      if (!read.success) return { reply: refusal('invalid_message', null, sentenceOf('listen', read.error)) };
      const { webhook_id: webhookId } = read.data;
      const isNew = listeners.get(webhookId)?.connection !== client.connection;
      if (isNew && countOf(client.connection) >= MAX_LISTENED) return { reply: refusal('too_many_rooms', null, MANY) };
      watch(client);
      const holder = await client.holder();
      if (!holder) return { reply: refusal('token_invalid') };
      if (!mayListen(holder)) return { reply: refusal('forbidden', null, NO_RIGHT) };
      const until = await beginListening(database, { webhookId, workspaceId: holder.workspaceId });
      if (until === null) return { reply: refusal('forbidden', null, NONE) };
      return {
        reply: { ok: true, webhook_id: webhookId },
        begin: () => follow(client, webhookId, until),
      };
    },
  };

  const answer: Handler = {
    answeredAs: 'answered',
    async handle({ connection }, body) {
      const read = answerMessage.safeParse(withoutOwnId(body));
      if (!read.success) return { reply: refusal('invalid_message', null, sentenceOf('answer', read.error)) };
      const { request_id: id, ...answered } = read.data;
      if (handedOver.get(id)?.connection !== connection) return { reply: refusal('invalid_message', null, UNKNOWN) };
      const isInTime = await answerRequest(database, id, answered);
      handedOver.delete(id);
      return { reply: { ok: true, request_id: id, in_time: isInTime } };
    },
  };

  return {
    handlers: { listen, answer },
    async close() {
      for (const one of listeners.values()) one.end(null);
      await Promise.all(farewells);
    },
  };
}

const NO_RIGHT = 'Listening needs the scope webhooks:write.';
const NONE = 'There is no such webhook to listen to; make one with POST /api/v1/listeners.';
const MANY = `One connection listens to ${MAX_LISTENED} webhooks at most.`;
const UNKNOWN = 'answer: `request_id` is of no request that was sent over this connection and waits.';

function mayListen({ scopes }: TokenHolder): boolean {
  return scopes.includes('webhooks:write');
}

function sentenceOf(type: string, { issues }: z.ZodError): string {
  const [issue] = issues;
  const where = issue && issue.path.length > 0 ? `\`${issue.path.map(String).join('.')}\`: ` : '';
  return `${type}: ${where}${issue?.message ?? 'not understood'}.`;
}
