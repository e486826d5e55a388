import type { EventKind } from '../src/domain/webhooks/event-kinds.ts';
import { sampleData } from '../src/domain/webhooks/event-samples.ts';
import type { Random } from '../test/support/random.ts';

export type PlannedEvent = { id: string; event: EventKind; data: Record<string, unknown> };

/** A planned request with events. Times in milliseconds. */
export type PlannedEventRequest = {
  at: number;
  events: PlannedEvent[];
  /** Whether the request is given up after a failure instead of sent again. */
  givesUp: boolean;
};

const REQUEST_INTERVAL_MS = 500;
/** Events in each request: most have one, as with events in real time. */
const SIZES = [1, 1, 1, 5];
/** Kinds that most webhooks subscribe to. */
const COMMON: readonly EventKind[] = ['issue.created', 'issue.created', 'issue.updated'];
/** Kinds with one webhook each. There are so few events that a fault of half a minute does not disable the webhook. */
const RARE: readonly EventKind[] = ['user.joined', 'sprint.started'];
const RARE_INTERVAL_MS = 6_000;

/** Plans about two requests with events a second, and further ones with the rare kinds. */
export function planEvents(random: Random, loadMs: number): PlannedEventRequest[] {
  const requests: PlannedEventRequest[] = [];
  let number = 0;
  const request = (at: number, kinds: readonly EventKind[]) => {
    const events = kinds.map((kind) => planEvent(random, kind, `event-${++number}`));
    requests.push({ at, events, givesUp: random.next() < 0.1 });
  };
  for (let at = 200; at < loadMs; at += random.whole(REQUEST_INTERVAL_MS / 2, REQUEST_INTERVAL_MS * 1.5)) {
    request(
      at,
      Array.from({ length: random.of(SIZES) }, () => random.of(COMMON)),
    );
  }
  for (const kind of RARE) {
    for (let at = 1_000; at < loadMs; at += RARE_INTERVAL_MS) request(at, [kind]);
  }
  return requests.toSorted((a, b) => a.at - b.at);
}

function planEvent(random: Random, event: EventKind, id: string): PlannedEvent {
  const data = sampleData(event);
  const issue = data['issue'] as Record<string, unknown> | undefined;
  if (issue) {
    issue['priority'] = random.of(['Low', 'High']);
    issue['title'] = `${id} ${'x'.repeat(random.whole(0, 400))}`;
  }
  return { id, event, data };
}
