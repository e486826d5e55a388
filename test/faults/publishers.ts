import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import type { Service } from '../support/service.ts';

/** The outcomes of published events. */
export type PublishResult = {
  /** Events with the response 202. They must arrive. */
  accepted: ReadonlySet<string>;
  /** Refused or interrupted, and not sent again. They may arrive or not. */
  givenUp: ReadonlySet<string>;
  /** How many requests had no response, and how many were refused with 503. */
  cut: number;
  refused: number;
};

/** Publishers in progress. */
export type Publishing = { acceptedCount(): number; done: Promise<PublishResult> };

const PUBLISHERS = 30;
/** Events in each request: most have one, as with events in real time. */
const SIZES = [1, 1, 1, 10];
const RETRY_INTERVAL_MS = 100;
/** One of this number of failed requests is not sent again. */
const GIVE_UP_INTERVAL = 4;

/**
 * Publishes `count` events whose ids begin with `prefix`, from several publishers at once. A request that is refused
 * with 503 or interrupted is sent again under the same ids, except some that are given up.
 * @throws on any other response
 */
export function publish(service: Service, prefix: string, count: number): Publishing {
  const accepted = new Set<string>();
  const givenUp = new Set<string>();
  const counts = { cut: 0, refused: 0 };
  let next = 0;
  let requests = 0;

  function nextIds(): string[] {
    const size = SIZES[requests++ % SIZES.length] ?? 1;
    const ids: string[] = [];
    while (ids.length < size && next < count) ids.push(`${prefix}${next++}`);
    return ids;
  }

  async function send(ids: readonly string[]): Promise<boolean> {
    const events = ids.map(eventOf);
    const body = events.length === 1 ? events[0] : { events };
    const answered = await service.send('POST', '/api/v1/events', { body }).catch(() => null);
    if (answered === null) counts.cut += 1;
    else if (answered.status === 503) counts.refused += 1;
    else if (answered.status !== 202) throw new Error(`${answered.status} ${answered.text}`);
    return answered?.status === 202;
  }

  async function work(): Promise<void> {
    for (let ids = nextIds(); ids.length > 0; ids = nextIds()) {
      const mayGiveUp = requests % GIVE_UP_INTERVAL === 0;
      let isAccepted = await send(ids);
      while (!isAccepted && !mayGiveUp) {
        await wait(RETRY_INTERVAL_MS);
        isAccepted = await send(ids);
      }
      for (const id of ids) (isAccepted ? accepted : givenUp).add(id);
      // A publisher that gives up waits, or one outage would use up all remaining events.
      if (!isAccepted) await wait(RETRY_INTERVAL_MS);
    }
  }

  const done = Promise.all(Array.from({ length: PUBLISHERS }, work)).then(() => ({
    accepted,
    givenUp,
    ...counts,
  }));
  return { acceptedCount: () => accepted.size, done };
}

/** Publishes `count` events in one request; their ids begin with `prefix`. */
export async function publishTogether(service: Service, prefix: string, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, index) => eventOf(`${prefix}${index}`));
  const { status, text } = await service.send('POST', '/api/v1/events', { body: { events } });
  assert.equal(status, 202, text);
}

/** Returns the event that all tests here publish. */
export function eventOf(id: string) {
  return { id, event: 'issue.created', data: { issue: { id, title: `An issue of ${id}` } } };
}
