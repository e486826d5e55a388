import { setTimeout as wait } from 'node:timers/promises';
import type { EventRecord } from './records.ts';
import type { Caller } from './caller.ts';
import type { PlannedEventRequest } from './plan-events.ts';

/** Sends every planned request with events at its time. `done` resolves when each was accepted or given up. */
export function publishEvents(
  { caller, waitUntil, isOver }: { caller: Caller; waitUntil(at: number): Promise<void>; isOver(): boolean },
  plans: readonly PlannedEventRequest[],
): { records: readonly EventRecord[]; done: Promise<void> } {
  const records: EventRecord[] = [];

  async function publish({ at, events, givesUp }: PlannedEventRequest): Promise<void> {
    await waitUntil(at);
    const sent = events.map((one) => ({ ...one, timestamp: '2026-03-04T10:03:20Z' }));
    const body = sent.length === 1 ? sent[0] : { events: sent };
    for (;;) {
      const response = await caller.request('POST', '/api/v1/events', { body });
      const outcome = response?.status === 202 ? 'accepted' : 'given up';
      if (outcome === 'accepted' || givesUp || isOver()) {
        records.push(...events.map((event) => ({ event, outcome }) as const));
        return;
      }
      await wait(500);
    }
  }

  return { records, done: Promise.all(plans.map(publish)).then(() => {}) };
}
