import {
  createAttemptScheduler,
  type AttemptLimits,
  type AttemptTarget,
  type AttemptTicket,
} from '../../domain/webhooks/attempt-scheduler.ts';

/** Limits concurrent attempts by the rules of the attempt scheduler. */
export type AttemptLimiter = {
  /**
   * Resolves with the function that releases the place, once the attempt may start. Resolves with null where it has waited
   * `waitMs` without progress of its webhook; null waits without limit.
   */
  acquire(target: AttemptTarget, waitMs: number | null): Promise<(() => void) | null>;
};

type Entry = { resolve(release: (() => void) | null): void; timer?: NodeJS.Timeout };

export function createAttemptLimiter(limits: AttemptLimits): AttemptLimiter {
  const scheduler = createAttemptScheduler(limits);
  const entries = new Map<AttemptTicket, Entry>();

  function startAll(): void {
    for (let ticket = scheduler.start(); ticket !== null; ticket = scheduler.start()) {
      const entry = entries.get(ticket);
      entries.delete(ticket);
      clearTimeout(entry?.timer);
      entry?.resolve(releaseOf(ticket));
    }
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

  function watch(ticket: AttemptTicket): void {
    const entry = entries.get(ticket);
    if (!entry || ticket.dueAt === null) return;
    entry.timer = setTimeout(() => {
      if (!scheduler.expire(ticket, performance.now())) return watch(ticket);
      entries.delete(ticket);
      entry.resolve(null);
    }, ticket.dueAt - performance.now());
  }

  return {
    acquire(target, waitMs) {
      const { promise, resolve } = Promise.withResolvers<(() => void) | null>();
      const ticket = scheduler.add(target, waitMs, performance.now());
      entries.set(ticket, { resolve });
      startAll();
      watch(ticket);
      return promise;
    },
  };
}
