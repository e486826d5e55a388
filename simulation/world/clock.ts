import { AsyncLocalStorage } from 'node:async_hooks';
import { real } from './real.ts';

/**
 * A process of the simulated world. While it is frozen, its work waits. When it is dead, its work is lost.
 */
export type Process = {
  name: string;
  state: 'up' | 'frozen' | 'dead';
  parked: Work[];
  /** The end of its last freeze; negative infinity if it was never frozen. */
  thawedAt: number;
};

type Work = () => void;
type Entry = { at: number; order: number; process: Process | null; work: Work | null };

/** A timer. The members of Node's timers that production code uses do nothing. */
export type VirtualTimer = { cancel(): void; ref(): VirtualTimer; unref(): VirtualTimer };

const current = new AsyncLocalStorage<Process | null>();

export function createProcess(name: string): Process {
  return { name, state: 'up', parked: [], thawedAt: Number.NEGATIVE_INFINITY };
}

/**
 * A clock that jumps from one entry to the next. Entries with the same time run in the order they were added. All promises
 * settle before the next entry runs. So all runs with the same entries are the same.
 */
export function createClock(begin: number) {
  /** The next entry is the last. */
  const queue: Entry[] = [];
  let now = begin;
  let order = 0;
  let moments = 0;
  /** Work that must end before the next entry, and how much of it is left. */
  let exclusive: Promise<unknown> = Promise.resolve();
  let held = 0;

  function add(entry: Entry): void {
    let low = 0;
    let high = queue.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = queue[middle] as Entry;
      if (other.at > entry.at || (other.at === entry.at && other.order > entry.order)) low = middle + 1;
      else high = middle;
    }
    queue.splice(low, 0, entry);
  }

  /** Runs `work` after `ms` in a process; null: in the world outside of all processes. */
  function after(ms: number, process: Process | null, work: Work): VirtualTimer {
    const entry: Entry = { at: now + Math.max(0, ms), order: (order += 1), process, work };
    add(entry);
    const timer: VirtualTimer = {
      cancel: () => void (entry.work = null),
      ref: () => timer,
      unref: () => timer,
    };
    return timer;
  }

  function runEntry({ process, work }: Entry): void {
    if (work === null || process?.state === 'dead') return;
    if (process?.state === 'frozen') process.parked.push(work);
    else current.run(process, work);
  }

  return {
    now: () => now,
    begin: () => begin,
    /** How many entries have run. */
    moment: () => moments,
    /** Calls back once everything that follows from the current entry has happened. */
    settled: (work: Work) => void after(0, null, work),
    process: () => current.getStore() ?? null,
    within: <T>(process: Process | null, work: () => T): T => current.run(process, work),
    after,

    /** Waits in the current process. */
    sleep: (ms: number): Promise<void> =>
      new Promise((resolve) => after(ms, current.getStore() ?? null, resolve)),

    /**
     * Sends a request of the current process to a part of the world, where `work` runs after `thereMs`, and returns the
     * response after `backMs` if the process still exists.
     */
    async call<T>(thereMs: number, work: () => T | Promise<T>, backMs: number): Promise<T> {
      const caller = current.getStore() ?? null;
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const back = (settle: () => void) => after(backMs, caller, settle);
      after(thereMs, null, () => {
        const run = async () => await work();
        run().then(
          (result) => back(() => resolve(result)),
          (error: unknown) => back(() => reject(error)),
        );
      });
      return await promise;
    },

    /** Does work that needs several turns of Node's event loop, before the next entry. One such work runs at a time. */
    async exclusively<T>(work: () => Promise<T>): Promise<T> {
      held += 1;
      const done = exclusive.then(work);
      exclusive = done.catch(() => {});
      return await done.finally(() => (held -= 1));
    },

    kill(process: Process): void {
      process.state = 'dead';
      process.parked = [];
    },

    freeze(process: Process): void {
      if (process.state === 'up') process.state = 'frozen';
    },

    thaw(process: Process): void {
      if (process.state !== 'frozen') return;
      process.state = 'up';
      process.thawedAt = now;
      for (const work of process.parked.splice(0)) after(0, process, work);
    },

    /** Runs entries until there is none, `until` returns true, or the time is over. */
    async run(until: () => boolean, most: number): Promise<void> {
      for (let entry = queue.at(-1); entry && entry.at <= most; entry = queue.at(-1)) {
        queue.pop();
        if (entry.work === null) continue;
        now = Math.max(now, entry.at);
        moments += 1;
        runEntry(entry);
        do await nextTurn();
        while (held > 0);
        if (until()) return;
      }
      now = Math.max(now, most);
    },
  };
}

/** Resolves when everything that can happen now has happened: all microtasks have run. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => real.setImmediate(resolve));
}

export type Clock = ReturnType<typeof createClock>;
