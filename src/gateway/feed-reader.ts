import type { AgedEvent, FeedPosition } from '../database/tasks/feed.ts';

/**
 * Reads the feeds of many runs in batches, one batch at a time. Requests that arrive during a read go into the next
 * batch.
 */
export type FeedReader = {
  /** Requests that the run's feed is read soon. */
  request(executionId: string): void;
  close(): void;
};

type Dependencies = {
  /** Size of a batch: number of runs, and of events from each position. */
  size: { runs: number; events: number };
  /** Returns the positions to read a run's feed from, when its turn comes; empty if nobody waits. */
  positionsOf(executionId: string): readonly FeedPosition[];
  read(positions: readonly FeedPosition[], limit: number): Promise<AgedEvent[][]>;
  /** Called for each position that was read. `isWhole` is false if more events may follow. */
  onRead(position: FeedPosition, events: readonly AgedEvent[], isWhole: boolean): void;
  onError(error: unknown): void;
};

/** A failed read is repeated after this time, in milliseconds. */
const RETRY_MS = 250;

export function createFeedReader({ size, positionsOf, read, onRead, onError }: Dependencies): FeedReader {
  const requested = new Set<string>();
  let isReading = false;
  let isClosed = false;

  async function run(): Promise<void> {
    isReading = true;
    while (requested.size > 0 && !isClosed) await readBatch([...requested].slice(0, size.runs));
    isReading = false;
  }

  async function readBatch(runs: readonly string[]): Promise<void> {
    for (const id of runs) requested.delete(id);
    const positions = runs.flatMap(positionsOf);
    if (positions.length === 0) return;
    try {
      const found = await read(positions, size.events);
      if (isClosed) return;
      for (const [index, position] of positions.entries()) {
        const events = found[index] ?? [];
        onRead(position, events, events.length < size.events);
      }
    } catch (error) {
      if (isClosed) return;
      onError(error);
      for (const id of runs) requested.add(id);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS).unref());
    }
  }

  return {
    request(executionId) {
      requested.add(executionId);
      if (!isReading && !isClosed) void run();
    },
    close() {
      isClosed = true;
      requested.clear();
    },
  };
}
