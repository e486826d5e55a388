import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import { beginListening } from '../database/webhooks/listeners.ts';
import type { Notifications } from '../database/common/notifications.ts';
import { answerRequest } from '../database/webhooks/relays.ts';
import type { RelayRequest } from '../domain/channel/channel.ts';
import { DELIVERY_TIMEOUT_MS, MAX_LISTENED } from '../domain/common/limits.ts';
import { listenMessage, readAnswer } from '../domain/channel/listening-schemas.ts';
import { describeError } from './client-messages.ts';
import type { Connection } from './connection.ts';
import { refusal, type Client, type Handler } from './handlers.ts';
import { Listener, canListen } from './listener.ts';
import { Message } from './message.ts';

/** Sends deliveries to the listeners of their webhooks and accepts their responses. */
export type Listening = {
  handlers: { listen: Handler; answer: Handler };
  /** Resolves when the end of all listeners is recorded. */
  close(): Promise<void>;
};

type Dependencies = { database: Database; notifications: Notifications; log: Logger; renewalMs?: number };

export function createListening({ database, notifications, log, renewalMs }: Dependencies): Listening {
  /** The latest listener of each webhook. */
  const listeners = new Map<string, Listener>();
  const pendingRequests = createPendingRequests();
  const watched = new WeakSet<Connection>();
  /** Writes for closed connections that are in progress. */
  const pendingEnds = new Set<Promise<void>>();

  const deps = {
    database,
    notifications,
    log,
    renewalMs,
    handOver: pendingRequests.handOver,
    onEnd: (listener: Listener) => void listeners.delete(listener.webhookId),
  };

  function watch({ connection, onceClosed }: Client): void {
    if (watched.has(connection)) return;
    watched.add(connection);
    onceClosed(() => {
      pendingRequests.forget(connection);
      for (const one of listenersOn(connection)) recordEnd(one);
    });
  }

  function listenersOn(connection: Connection): Listener[] {
    return [...listeners.values()].filter((one) => one.connection === connection);
  }

  function recordEnd(listener: Listener): void {
    const done = listener
      .disconnect()
      .catch((error: unknown) => log.warn({ err: error }, 'recording the end of a listener failed'))
      .finally(() => pendingEnds.delete(done));
    pendingEnds.add(done);
  }

  const listen: Handler = {
    replyType: 'listening',
    read(client, body) {
      const read = listenMessage.safeParse(body);
      if (!read.success) return refusal('invalid_message', null, describeError('listen', read.error));
      const { webhook_id: webhookId } = read.data;
      return async () => {
        const others = listenersOn(client.connection).filter((one) => one.webhookId !== webhookId);
        if (others.length >= MAX_LISTENED) return { reply: refusal('too_many_rooms', null, TOO_MANY) };
        watch(client);
        const holder = await client.holder();
        if (!holder) return { reply: refusal('token_invalid') };
        if (!canListen(holder)) return { reply: refusal('forbidden', null, MISSING_SCOPE) };
        const until = await beginListening(database, { webhookId, workspaceId: holder.workspaceId });
        if (until === null) return { reply: refusal('forbidden', null, NO_WEBHOOK) };
        return {
          reply: { ok: true, webhook_id: webhookId },
          begin() {
            listeners.get(webhookId)?.replaceWith(client.connection);
            listeners.set(webhookId, new Listener(deps, client, webhookId, until));
          },
        };
      };
    },
  };

  const answer: Handler = {
    replyType: 'answered',
    isSolicited: true,
    read({ connection }, body) {
      const read = readAnswer(body);
      if (!read.success) return refusal('invalid_message', null, describeError('answer', read.error));
      const { request_id: id, ...answered } = read.data;
      if (!pendingRequests.has(id, connection)) return refusal('invalid_message', null, UNKNOWN);
      return async () => {
        // It may have been answered while this answer waited for its turn.
        if (!pendingRequests.has(id, connection)) return { reply: refusal('invalid_message', null, UNKNOWN) };
        const isInTime = await answerRequest(database, id, answered);
        pendingRequests.answered(id);
        return { reply: { ok: true, request_id: id, in_time: isInTime } };
      };
    },
  };

  return {
    handlers: { listen, answer },
    async close() {
      for (const one of listeners.values()) recordEnd(one);
      await Promise.all(pendingEnds);
    },
  };
}

const MISSING_SCOPE = 'Listening requires the scope webhooks:write.';
const NO_WEBHOOK =
  'The webhook does not exist or cannot be listened to. Create one with POST /api/v1/listeners.';
const TOO_MANY = `A connection can listen to at most ${MAX_LISTENED} webhooks.`;
const UNKNOWN = 'answer: `request_id` does not match a pending request of this connection.';

/** After this time, no delivery waits for the response any more. */
const REQUEST_EXPIRY_MS = 2 * DELIVERY_TIMEOUT_MS;

/** The requests that can be answered, with the connection that must answer. */
function createPendingRequests() {
  const requests = new Map<string, { connection: Connection; at: number }>();
  return {
    handOver(request: RelayRequest, connection: Connection): void {
      const now = performance.now();
      // In the order of sending.
      for (const [id, { at }] of requests) {
        if (now - at < REQUEST_EXPIRY_MS) break;
        requests.delete(id);
      }
      requests.delete(request.id);
      requests.set(request.id, { connection, at: now });
      connection.send(Message.of('request', request));
    },
    has: (id: string, connection: Connection) => requests.get(id)?.connection === connection,
    answered: (id: string) => void requests.delete(id),
    forget(connection: Connection): void {
      for (const [id, { connection: to }] of requests) if (to === connection) requests.delete(id);
    },
  };
}
