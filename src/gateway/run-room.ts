import type { FeedEvent } from '../domain/tasks/feed-events.ts';
import { CHANNEL_PENDING_BYTES } from '../domain/common/limits.ts';
import type { Connection } from './connection.ts';
import { Message } from './message.ts';

/** A viewer of a run, and how far it has come: it has been sent everything up to `cursor`. */
export type Viewer = { connection: Connection; cursor: number; isStalled: boolean };

/**
 * The viewers of one run in this process. Those who have come equally far stand together and get what comes next
 * together; each event is encoded once for all of them. Nobody is ever sent an event but the one behind its own
 * cursor, so nothing is left out, repeated or turned round, whoever reads the feed, when and how often.
 */
export class RunRoom {
  readonly #groups = new Map<number, Set<Viewer>>();
  readonly #onStalled: (viewer: Viewer) => void;
  #size = 0;

  constructor(onStalled: (viewer: Viewer) => void) {
    this.#onStalled = onStalled;
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  /** Places in the feed where somebody stands who takes what comes next, the furthest first. */
  get places(): number[] {
    return [...this.#groups.keys()].toSorted((a, b) => b - a);
  }

  add(viewer: Viewer): void {
    this.#size += 1;
    this.#put(viewer);
  }

  remove(viewer: Viewer): void {
    this.#size -= 1;
    this.#take(viewer);
  }

  /** Lets a stalled viewer take part again, from where it stands. */
  resume(viewer: Viewer): void {
    viewer.isStalled = false;
    this.#put(viewer);
  }

  /**
   * Sends events that stand without a hole behind `after` to everybody who lacks some of them and has come at least so
   * far. A viewer that does not take what it is sent is set aside, where it stands. Answers how many events went out,
   * counted for each viewer.
   */
  deliver(after: number, events: readonly FeedEvent[]): number {
    const last = after + events.length;
    const messages: Message[] = [];
    const stalled: Viewer[] = [];
    let sent = 0;
    for (const [cursor, group] of this.#groups) {
      if (cursor < after || cursor >= last) continue;
      this.#groups.delete(cursor);
      for (const viewer of group) {
        for (let index = cursor - after; index < events.length && !viewer.isStalled; index += 1) {
          messages[index] ??= Message.of('event', events[index] as FeedEvent);
          viewer.connection.send(messages[index] as Message);
          viewer.cursor = after + index + 1;
          viewer.isStalled = viewer.connection.pendingBytes() > CHANNEL_PENDING_BYTES;
          sent += 1;
        }
        if (viewer.isStalled) stalled.push(viewer);
        else this.#put(viewer);
      }
    }
    // Only now: whoever is told may change who is in the room.
    for (const viewer of stalled) this.#onStalled(viewer);
    return sent;
  }

  #put(viewer: Viewer): void {
    const group = this.#groups.get(viewer.cursor) ?? new Set();
    this.#groups.set(viewer.cursor, group.add(viewer));
  }

  #take(viewer: Viewer): void {
    const group = this.#groups.get(viewer.cursor);
    group?.delete(viewer);
    if (group?.size === 0) this.#groups.delete(viewer.cursor);
  }
}
