import type { FeedEvent } from '../domain/tasks/feed-events.ts';
import { CHANNEL_PENDING_BYTES } from '../domain/common/limits.ts';
import type { Connection } from './connection.ts';
import { Message } from './message.ts';

/** A viewer of a run. It was sent all events up to `cursor`. */
export type Viewer = { connection: Connection; cursor: number; isStalled: boolean };

/**
 * The viewers of one run in this process, grouped by cursor. A group gets the next events together; each event is
 * encoded once for all. A viewer is only ever sent the event after its own cursor, so no event is skipped, repeated
 * or reordered. It does not matter when or how often the feed is read.
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

  /** Returns the cursors of viewers that can receive, the furthest first. */
  get cursors(): number[] {
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

  /** Resumes a stalled viewer from its cursor. */
  resume(viewer: Viewer): void {
    viewer.isStalled = false;
    this.#put(viewer);
  }

  /**
   * Sends consecutive events after `after` to each viewer whose cursor is at or after it and that lacks some of them.
   * A viewer that does not receive is marked as stalled. Returns the number of sent events, counted for each viewer.
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
    // Only now, because the callback may change the viewers of the room.
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
