import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import { GONE, renewListening, stopListening, type Until } from '../database/webhooks/listeners.ts';
import type { Notifications } from '../database/common/notifications.ts';
import { releaseRequests, claimRequests } from '../database/webhooks/relays.ts';
import type { TokenHolder } from '../database/people/token-holders.ts';
import type { ListeningEnded, RelayRequest } from '../domain/channel/channel.ts';
import { CHANNEL_PENDING_BYTES, LISTENING_HEARTBEAT_MS } from '../domain/common/limits.ts';
import type { Connection } from './connection.ts';
import type { Client } from './handlers.ts';
import { Message } from './message.ts';

type Dependencies = {
  database: Database;
  notifications: Notifications;
  log: Logger;
  /** How often it is renewed, in milliseconds. */
  renewalMs?: number | undefined;
  /** Sends a request to the connection. */
  handOver(request: RelayRequest, connection: Connection): void;
  /** Called when it is no longer the listener. */
  onEnd(listener: Listener): void;
};

/** Maximum number of requests read at once. Each can be as long as an event. */
const BATCH = 4;

export function canListen({ scopes }: TokenHolder): boolean {
  return scopes.includes('webhooks:write');
}

/**
 * A connection that listens to one webhook. It renews its listening time regularly and receives the waiting requests.
 */
export class Listener {
  readonly webhookId: string;
  readonly connection: Connection;
  readonly #deps: Dependencies;
  readonly #client: Client;
  readonly #unsubscribe: () => void;
  readonly #unwatch: () => void;
  #until: Until;
  #timer: NodeJS.Timeout;
  #isEnded = false;
  #isHandingOver = false;
  #hasMore = false;

  /** `until`: the time up to which it was registered. */
  constructor(deps: Dependencies, client: Client, webhookId: string, until: Until) {
    this.webhookId = webhookId;
    this.connection = client.connection;
    this.#deps = deps;
    this.#client = client;
    this.#until = until;
    this.#unsubscribe = deps.notifications.subscribe('relay', webhookId, (_id, rest) => {
      // The payload is the time of the newest listener, or empty if a request waits.
      if (rest === null || rest === '') void this.#handOverWaiting();
      else if (rest === GONE) this.#endAs('gone');
      else if (rest > this.#until) this.#endAs('replaced');
    });
    this.#unwatch = client.onHolder((holder) => {
      if (!canListen(holder)) this.#endAs('gone');
    });
    this.#timer = this.#scheduleRenewal();
    void this.#handOverWaiting();
  }

  /** Ends this listener in favour of another connection, or of a new registration on the same one. */
  replaceWith(connection: Connection): void {
    if (connection === this.connection) this.#end();
    else this.#endAs('replaced');
  }

  /** Ends the listener of a closed connection. Resolves when that is recorded. */
  async disconnect(): Promise<void> {
    if (this.#isEnded) return;
    this.#end();
    await stopListening(this.#deps.database, { webhookId: this.webhookId, until: this.#until });
  }

  #endAs(reason: ListeningEnded['reason']): void {
    if (this.#isEnded) return;
    this.#end();
    this.connection.send(Message.of('listening_ended', { webhook_id: this.webhookId, reason }));
  }

  #end(): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
    this.#unsubscribe();
    this.#unwatch();
    this.#deps.onEnd(this);
  }

  #scheduleRenewal(): NodeJS.Timeout {
    return setTimeout(() => void this.#renew(), this.#deps.renewalMs ?? LISTENING_HEARTBEAT_MS).unref();
  }

  /** Renews the listener while the token allows it and nobody else listens. */
  async #renew(): Promise<void> {
    try {
      const holder = await this.#client.holder();
      if (this.#isEnded) return;
      if (!holder) return this.#endAs('gone');
      const { webhookId } = this;
      const signed = await renewListening(this.#deps.database, { webhookId, until: this.#until });
      if (typeof signed === 'string') return this.#endAs(signed);
      this.#until = signed.until;
    } catch (error) {
      this.#warn(error, 'recording a listener failed');
    }
    if (this.#isEnded) return;
    this.#timer = this.#scheduleRenewal();
    await this.#handOverWaiting();
  }

  /** Sends waiting requests as fast as the client receives them. */
  async #handOverWaiting(): Promise<void> {
    this.#hasMore = true;
    if (this.#isHandingOver) return;
    this.#isHandingOver = true;
    while (this.#hasMore && !this.#isEnded) {
      this.#hasMore = false;
      if (this.connection.pendingBytes() > CHANNEL_PENDING_BYTES) {
        this.connection.onceDrained(() => void this.#handOverWaiting());
      } else if (await this.#handOverBatch()) this.#hasMore = true;
    }
    this.#isHandingOver = false;
  }

  /** Returns true if more requests may wait. */
  async #handOverBatch(): Promise<boolean> {
    const { database, handOver } = this.#deps;
    try {
      const requests = await claimRequests(database, this.webhookId, BATCH);
      if (!this.#isEnded) for (const request of requests) handOver(request, this.connection);
      else if (requests.length > 0) await releaseRequests(database, this.webhookId, requests);
      return requests.length === BATCH;
    } catch (error) {
      // They wait for the next renewal.
      this.#warn(error, 'reading requests for a listener failed');
      return false;
    }
  }

  #warn(error: unknown, what: string): void {
    this.#deps.log.warn({ err: error, webhook_id: this.webhookId }, what);
  }
}
