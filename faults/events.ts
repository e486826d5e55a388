import { setTimeout as wait } from 'node:timers/promises';
import type { EventBook } from './books.ts';
import type { Caller } from './caller.ts';
import type { PlannedEvents } from './plan-events.ts';

/** Sends every planned request with events at its time; resolves when each was taken or given up. */
export function publishEvents(
  { caller, until, isOver }: { caller: Caller; until(at: number): Promise<void>; isOver(): boolean },
  plans: readonly PlannedEvents[],
): { books: readonly EventBook[]; done: Promise<void> } {
  const books: EventBook[] = [];

  async function publish({ at, events, givesUp }: PlannedEvents): Promise<void> {
    await until(at);
    const sent = events.map((one) => ({ ...one, timestamp: '2026-03-04T10:03:20Z' }));
    const body = sent.length === 1 ? sent[0] : { events: sent };
    for (;;) {
      const answer = await caller.ask('POST', '/api/v1/events', { body });
      const outcome = answer?.status === 202 ? 'taken' : 'given up';
      if (outcome === 'taken' || givesUp || isOver()) {
        books.push(...events.map((event) => ({ event, outcome }) as const));
        return;
      }
      await wait(500);
    }
  }

  return { books, done: Promise.all(plans.map(publish)).then(() => {}) };
}
