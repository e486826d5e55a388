import { CHANNEL_PENDING_BYTES, MAX_PENDING_DELIVERIES } from '../domain/common/limits.ts';
import { MANY_CHANGED } from '../database/webhooks/watched-webhooks.ts';
import type { Connection } from './connection.ts';
import type { Message } from './message.ts';

/**
 * Somebody in a webhook's room. `owed` are the ids of what is to be read and sent: each once, however often it has
 * changed since, so that a slow viewer gets the latest state alone.
 */
export class WebhookViewer {
  readonly workspaceId: string;
  readonly webhookId: string;
  readonly owed = new Set<string>();
  #connection: Connection | null = null;
  #isStalled = false;
  #isGone = false;

  constructor(workspaceId: string, webhookId: string) {
    this.workspaceId = workspaceId;
    this.webhookId = webhookId;
  }

  /** True where something is owed and can be sent now. */
  get isWaiting(): boolean {
    return this.#connection !== null && !this.#isStalled && !this.#isGone && this.owed.size > 0;
  }

  /** True while it takes no more. */
  get isStalled(): boolean {
    return this.#isStalled;
  }

  follow(connection: Connection): void {
    this.#connection = connection;
  }

  leave(): void {
    this.#isGone = true;
    this.owed.clear();
  }

  /** Notes what has changed. Where too much of it comes together, that is all that is told. */
  owe(ids: Iterable<string>): void {
    if (this.#isGone) return;
    for (const id of ids) this.owed.add(id);
    if (this.owed.size <= MAX_PENDING_DELIVERIES) return;
    this.owed.clear();
    this.owed.add(MANY_CHANGED);
  }

  /**
   * Sends; false where the viewer takes no more for now. Then `onResumed` is called when it has taken what waits for
   * it, and it is dropped when that takes longer than `stallMs`.
   */
  send(message: Message, stallMs: number, onResumed: () => void): boolean {
    const connection = this.#connection;
    if (connection === null || this.#isGone) return false;
    connection.send(message);
    if (connection.pendingBytes() <= CHANNEL_PENDING_BYTES) return true;
    this.#isStalled = true;
    const timer = setTimeout(() => connection.close('slow_reader'), stallMs).unref();
    connection.onceDrained(() => {
      clearTimeout(timer);
      this.#isStalled = false;
      onResumed();
    });
    return false;
  }
}
