import type { EventKind } from '../src/domain/webhooks/event-kinds.ts';
import { sampleData } from '../src/domain/webhooks/event-samples.ts';
import type { Random } from '../test/support/random.ts';

export type PlannedEvent = { id: string; event: EventKind; data: Record<string, unknown> };

/** One request of the source of events. Times in milliseconds. */
export type PlannedEvents = {
  at: number;
  events: PlannedEvent[];
  /** Whether a request that was refused or cut off is given up instead of sent again. */
  givesUp: boolean;
};

const EVERY_MS = 500;
/** Most events come alone, as they do when they happen; some come in lists. */
const SIZES = [1, 1, 1, 5];
/** Kinds that most webhooks want. */
const COMMON: readonly EventKind[] = ['issue.created', 'issue.created', 'issue.updated'];
/** So few come of these, each to one webhook, that a trouble of half a minute does not disable it. */
const RARE: readonly EventKind[] = ['user.joined', 'sprint.started'];
const RARE_EVERY_MS = 6_000;

/** Requests with events, about two a second, and the rare kinds beside them. */
export function planEvents(random: Random, loadMs: number): PlannedEvents[] {
  const requests: PlannedEvents[] = [];
  let number = 0;
  const request = (at: number, kinds: readonly EventKind[]) => {
    const events = kinds.map((kind) => eventOf(random, kind, `story-${++number}`));
    requests.push({ at, events, givesUp: random.next() < 0.1 });
  };
  for (let at = 200; at < loadMs; at += random.whole(EVERY_MS / 2, EVERY_MS * 1.5)) {
    request(
      at,
      Array.from({ length: random.of(SIZES) }, () => random.of(COMMON)),
    );
  }
  for (const kind of RARE) {
    for (let at = 1_000; at < loadMs; at += RARE_EVERY_MS) request(at, [kind]);
  }
  return requests.toSorted((a, b) => a.at - b.at);
}

function eventOf(random: Random, event: EventKind, id: string): PlannedEvent {
  const data = sampleData(event);
  const issue = data['issue'] as Record<string, unknown> | undefined;
  if (issue) {
    issue['priority'] = random.of(['Low', 'High']);
    issue['title'] = `${id} ${'x'.repeat(random.whole(0, 400))}`;
  }
  return { id, event, data };
}
