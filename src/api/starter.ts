import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { StartQueue } from '../domain/common/start-queue.ts';
import { EngineRefusal } from '../temporal/task-control.ts';

type StarterOptions<Item> = {
  /** Starts these items. @throws if Temporal refuses, or does not respond */
  start: (items: readonly [Item, ...Item[]]) => Promise<void>;
  /** Maximum number of starts in progress. */
  concurrency: number;
  /** Decides which of the waiting items the next start takes, and when. */
  queue: StartQueue<Item>;
  /** What is started, for the log: for example `runs`. */
  what: string;
  log: Logger;
};

/** Starts stored work in the background. */
export type Starter<Item> = {
  /** Starts an item as soon as possible. It must be stored already. */
  add(item: Item): void;
  /** Returns whether stored work waits: the last start failed, or one takes unusually long. */
  isBehind(): boolean;
  /** Resolves when nothing waits here. What cannot be started now stays stored. */
  close(): Promise<void>;
};

/** A start that takes longer shows that Temporal is unavailable or overloaded, in milliseconds. */
const SLOW_START_MS = 1_000;

/** How often closing looks for what still waits, in milliseconds. */
const CLOSE_POLL_MS = 10;

/**
 * Creates the starter of one kind of work. No caller waits for it: work is accepted once it is stored. If a start fails,
 * everything that waits is forgotten here, and the reconciler starts it when Temporal is back (docs/how-it-works.md). So
 * a long outage costs no memory, and an uncertain start needs no second look. Until a start succeeds again, there is only
 * one at a time.
 */
export function createStarter<Item>(options: StarterOptions<Item>): Starter<Item> {
  const { start, queue, what, log } = options;
  let isFailing = false;
  let timer: NodeJS.Timeout | null = null;
  /** Starts in progress, and when they began; the oldest first. */
  const inProgress = new Map<Promise<void>, number>();

  function pump(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    while (inProgress.size < (isFailing ? 1 : options.concurrency)) {
      const now = performance.now();
      const items = queue.take(now);
      if (items === null) return;
      if (typeof items === 'number') {
        timer = setTimeout(pump, Math.ceil(items - now));
        return;
      }
      const run = startAll(items).finally(() => {
        inProgress.delete(run);
        pump();
      });
      inProgress.set(run, now);
    }
  }

  async function startAll(items: readonly [Item, ...Item[]]): Promise<void> {
    try {
      await start(items);
      if (isFailing) log.info(`starting ${what} works again`);
      isFailing = false;
    } catch (error) {
      if (!isFailing) log.warn({ err: error }, `starting ${what} failed; the reconciler starts them later`);
      if (error instanceof EngineRefusal) return;
      isFailing = true;
      queue.clear();
    }
  }

  return {
    add(item) {
      queue.add(item);
      pump();
    },
    isBehind() {
      const [oldest = Number.POSITIVE_INFINITY] = inProgress.values();
      return isFailing || performance.now() - oldest > SLOW_START_MS;
    },
    async close() {
      while (!isFailing && inProgress.size + queue.size > 0)
        await Promise.race([...inProgress.keys(), wait(CLOSE_POLL_MS)]);
    },
  };
}
