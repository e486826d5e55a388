import {
  createAttemptScheduler,
  type AttemptLimits,
  type AttemptOwner,
  type AttemptTicket,
} from '../../domain/webhooks/attempt-scheduler.ts';

/** Admits attempts by the rules of the attempt scheduler. */
export type Gate = {
  /**
   * Resolves with the function that frees the place, once the attempt may start. Resolves with null where it has waited
   * `waitMs` without progress of its webhook; null waits without end.
   */
  enter(owner: AttemptOwner, waitMs: number | null): Promise<(() => void) | null>;
};

export function createGate(limits: AttemptLimits): Gate {
  const scheduler = createAttemptScheduler(limits);
  const entries = new Map<
    AttemptTicket,
    { resolve(leave: (() => void) | null): void; timer?: NodeJS.Timeout }
  >();

  function startAll(): void {
    for (let ticket = scheduler.start(); ticket !== null; ticket = scheduler.start()) {
      const entry = entries.get(ticket);
      entries.delete(ticket);
      clearTimeout(entry?.timer);
      entry?.resolve(leaving(ticket));
    }
  }

  function leaving(ticket: AttemptTicket): () => void {
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
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
    enter(owner, waitMs) {
      const { promise, resolve } = Promise.withResolvers<(() => void) | null>();
      const ticket = scheduler.add(owner, waitMs, performance.now());
      entries.set(ticket, { resolve });
      startAll();
      watch(ticket);
      return promise;
    },
  };
}
