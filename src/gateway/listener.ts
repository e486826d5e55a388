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
  /** How often it gives a sign, in milliseconds. */
  signMs?: number | undefined;
  /** Hands a request over to the connection. */
  handOver(request: RelayRequest, connection: Connection): void;
  /** It is the listener no more. */
  onEnd(listener: Listener): void;
};

/** Requests taken at once: each may be as long as an event. */
const BATCH = 4;

export function mayListen({ scopes }: TokenHolder): boolean {
  return scopes.includes('webhooks:write');
}

/** A connection that listens to one webhook: gives a sign of it again and again, and hands over what waits. */
export class Listener {
  readonly webhookId: string;
  readonly connection: Connection;
  readonly #deps: Dependencies;
  readonly #client: Client;
  readonly #unsubscribe: () => void;
  #until: Until;
  #timer: NodeJS.Timeout;
  #isOver = false;
  #isTaking = false;
  #isMore = false;

  /** `until`: the sign with which it began. */
  constructor(deps: Dependencies, client: Client, webhookId: string, until: Until) {
    this.webhookId = webhookId;
    this.connection = client.connection;
    this.#deps = deps;
    this.#client = client;
    this.#until = until;
    this.#unsubscribe = deps.notifications.subscribe('relay', webhookId, (_id, rest) => {
      // Behind the id stands the sign of who listens from now on, or nothing where a request waits.
      if (rest === null || rest === '') void this.#take();
      else if (rest === GONE) this.#endAs('gone');
      else if (rest > this.#until) this.#endAs('replaced');
    });
    this.#timer = this.#signLater();
    void this.#take();
  }

  /** Makes room for another connection, or for the same one that asked again. */
  giveWayTo(connection: Connection): void {
    if (connection === this.connection) this.#end();
    else this.#endAs('replaced');
  }

  /** The connection is lost. Resolves when that is written down. */
  async left(): Promise<void> {
    if (this.#isOver) return;
    this.#end();
    await stopListening(this.#deps.database, { webhookId: this.webhookId, until: this.#until });
  }

  #endAs(reason: ListeningEnded['reason']): void {
    if (this.#isOver) return;
    this.#end();
    this.connection.send(Message.of('listening_ended', { webhook_id: this.webhookId, reason }));
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#unsubscribe();
    this.#deps.onEnd(this);
  }

  #signLater(): NodeJS.Timeout {
    return setTimeout(() => void this.#sign(), this.#deps.signMs ?? LISTENING_HEARTBEAT_MS).unref();
  }

  /** Goes on for as long as the token allows it and nobody else listens. */
  async #sign(): Promise<void> {
    try {
      const holder = await this.#client.holder();
      if (this.#isOver) return;
      if (!holder || !mayListen(holder)) return this.#endAs('gone');
      const { webhookId } = this;
      const signed = await renewListening(this.#deps.database, { webhookId, until: this.#until });
      if (typeof signed === 'string') return this.#endAs(signed);
      this.#until = signed.until;
    } catch (error) {
      this.#warn(error, 'recording a listener failed');
    }
    if (this.#isOver) return;
    this.#timer = this.#signLater();
    await this.#take();
  }

  /** Hands over what waits, as fast as the client takes it. */
  async #take(): Promise<void> {
    this.#isMore = true;
    if (this.#isTaking) return;
    this.#isTaking = true;
    while (this.#isMore && !this.#isOver) {
      this.#isMore = false;
      if (this.connection.pendingBytes() > CHANNEL_PENDING_BYTES) {
        this.connection.onceDrained(() => void this.#take());
      } else if (await this.#takeSome()) this.#isMore = true;
    }
    this.#isTaking = false;
  }

  /** True where there may be more. */
  async #takeSome(): Promise<boolean> {
    const { database, handOver } = this.#deps;
    try {
      const requests = await claimRequests(database, this.webhookId, BATCH);
      if (!this.#isOver) for (const request of requests) handOver(request, this.connection);
      else if (requests.length > 0) await releaseRequests(database, this.webhookId, requests);
      return requests.length === BATCH;
    } catch (error) {
      // They wait for the next sign.
      this.#warn(error, 'reading requests for a listener failed');
      return false;
    }
  }

  #warn(error: unknown, what: string): void {
    this.#deps.log.warn({ err: error, webhook_id: this.webhookId }, what);
  }
}
