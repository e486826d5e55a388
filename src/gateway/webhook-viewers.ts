import { CHANNEL_PENDING_BYTES, MAX_PENDING_DELIVERIES } from '../domain/common/limits.ts';
import { MANY_CHANGED } from '../database/webhooks/watched-webhooks.ts';
import type { Connection } from './connection.ts';
import type { Message } from './message.ts';

/**
 * A viewer of a webhook. `owed` contains the ids to read and send, each once however often it changed, so that a slow
 * viewer gets only the latest state.
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

  /** Returns true if changes are queued and can be sent now. */
  get isWaiting(): boolean {
    return this.#connection !== null && !this.#isStalled && !this.#isGone && this.owed.size > 0;
  }

  /** Returns true while the client receives nothing. */
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

  /** Queues changed ids. If there are too many, they are replaced by one marker. */
  owe(ids: Iterable<string>): void {
    if (this.#isGone) return;
    for (const id of ids) this.owed.add(id);
    if (this.owed.size <= MAX_PENDING_DELIVERIES) return;
    this.owed.clear();
    this.owed.add(MANY_CHANGED);
  }

  /**
   * Sends a message. Returns false if the viewer is stalled. `onResumed` is called when it has received what is
   * pending. It is disconnected if that takes longer than `stallMs`.
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
