import {
  createAttemptScheduler,
  type AttemptLimits,
  type AttemptTarget,
  type AttemptTicket,
} from '../../domain/webhooks/attempt-scheduler.ts';

/** The place of an attempt that may start. `waitedMs`: how long it was waited for; zero if it was free at once. */
export type AttemptPlace = { release(): void; waitedMs: number };

/** Limits concurrent attempts by the rules of the attempt scheduler. */
export type AttemptLimiter = {
  /**
   * Resolves once the attempt may start; with null if it has waited `waitMs` without progress of its webhook. An aborted
   * attempt leaves the queue at once.
   * @throws the reason of `signal` once it is aborted
   */
  acquire(target: AttemptTarget, waitMs: number, signal?: AbortSignal): Promise<AttemptPlace | null>;
};

type Entry = {
  resolve(place: AttemptPlace | null): void;
  /** Since when it waits; null if it has not waited. */
  since: number | null;
  timer?: NodeJS.Timeout;
};

export function createAttemptLimiter(limits: AttemptLimits): AttemptLimiter {
  const scheduler = createAttemptScheduler(limits);
  const entries = new Map<AttemptTicket, Entry>();

  function startAll(): void {
    for (let ticket = scheduler.start(); ticket !== null; ticket = scheduler.start()) {
      const entry = entries.get(ticket);
      removeEntry(ticket);
      const waitedMs = entry?.since ? performance.now() - entry.since : 0;
      entry?.resolve({ release: releaseOf(ticket), waitedMs });
    }
  }

  function removeEntry(ticket: AttemptTicket): void {
    clearTimeout(entries.get(ticket)?.timer);
    entries.delete(ticket);
  }

  function releaseOf(ticket: AttemptTicket): () => void {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      scheduler.finish(ticket, performance.now());
      startAll();
    };
  }

  /**
   * Ends the wait of an attempt. Responses that have arrived are read first: after a standstill of the process, its timers
   * are due before it has read them, and a quick receiver would look like one that does not respond.
   */
  function watch(ticket: AttemptTicket, entry: Entry): void {
    const end = () => {
      if (!entries.has(ticket)) return;
      if (!scheduler.expire(ticket, performance.now())) return watch(ticket, entry);
      removeEntry(ticket);
      entry.resolve(null);
    };
    entry.timer = setTimeout(() => setImmediate(end), ticket.dueAt - performance.now());
  }

  return {
    async acquire(target, waitMs, signal) {
      signal?.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<AttemptPlace | null>();
      const ticket = scheduler.add(target, waitMs, performance.now());
      const entry: Entry = { resolve, since: null };
      entries.set(ticket, entry);
      startAll();
      if (!entries.has(ticket)) return await promise;
      entry.since = performance.now();
      watch(ticket, entry);
      const leave = () => {
        scheduler.remove(ticket);
        removeEntry(ticket);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', leave, { once: true });
      return await promise.finally(() => signal?.removeEventListener('abort', leave));
    },
  };
}
