import { MAX_BODY_BYTES, MAX_EVENTS_PER_REQUEST } from './vocabulary.ts';
import { pathOf, type Http } from './http.ts';
import { randomHex } from './ids.ts';
import type { CallOptions, EventTypes, OutgoingEvent, TakenEvent } from './types.ts';

/** The size of the JSON around the events of a request, with a margin. */
const ENVELOPE_BYTES = 64;

/**
 * Baton accepted some of the events and not the others, because a request failed after an earlier one succeeded.
 * `taken` has the accepted events and `cause` the error. To continue, send the events in `left` again: they have ids,
 * so Baton stores none of them twice.
 */
export class EventsLeft extends Error {
  override name = 'EventsLeft';
  readonly taken: readonly TakenEvent[];
  readonly left: readonly OutgoingEvent[];

  constructor(taken: readonly TakenEvent[], left: readonly OutgoingEvent[], cause: unknown) {
    super(`${taken.length} events were accepted, ${left.length} were not.`, { cause });
    this.taken = taken;
    this.left = left;
  }
}

type IdentifiedEvent = OutgoingEvent & { id: string };

export type Events = ReturnType<typeof createEvents>;

/** Creates the methods for the events of the workspace. */
export function createEvents(http: Http) {
  /** Events have ids, so Baton stores none of them twice if a request is repeated after its response was lost. */
  const post = <T>(body: string, signal: AbortSignal | undefined) =>
    http.json<T>({ method: 'POST', path: pathOf('events'), body, isRepeatable: true, signal });

  async function sendAll(
    events: readonly IdentifiedEvent[],
    signal: AbortSignal | undefined,
  ): Promise<TakenEvent[]> {
    const taken: TakenEvent[] = [];
    for (const batch of splitIntoBatches(events)) {
      try {
        const { data } = await post<{ data: TakenEvent[] }>(`{"events":[${batch.join(',')}]}`, signal);
        taken.push(...data);
      } catch (error) {
        if (taken.length === 0) throw error;
        throw new EventsLeft(taken, events.slice(taken.length), error);
      }
    }
    return taken;
  }

  /** Sends one event. Baton has stored it durably when the promise resolves. */
  async function send(event: OutgoingEvent, options?: CallOptions): Promise<TakenEvent>;
  /**
   * Sends any number of events, in requests of at most 500 events and 1 MiB. Returns the results in the order of the events.
   * Baton accepts all events of a request or none of them.
   * @throws EventsLeft if a request fails after an earlier one succeeded
   */
  async function send(events: readonly OutgoingEvent[], options?: CallOptions): Promise<TakenEvent[]>;
  async function send(
    given: OutgoingEvent | readonly OutgoingEvent[],
    { signal }: CallOptions = {},
  ): Promise<TakenEvent | TakenEvent[]> {
    if (isList(given)) return await sendAll(given.map(withId), signal);
    return await post<TakenEvent>(JSON.stringify(withId(given)), signal);
  }

  return {
    send,
    /** Returns the event kinds, each with its schema and a sample. */
    types: async ({ signal }: CallOptions = {}) =>
      (await http.json<EventTypes>({ method: 'GET', path: pathOf('event-types'), signal })).data,
  };
}

function isList(given: OutgoingEvent | readonly OutgoingEvent[]): given is readonly OutgoingEvent[] {
  return Array.isArray(given);
}

function withId(event: OutgoingEvent): IdentifiedEvent {
  return { ...event, id: event.id ?? `evt_${randomHex()}` };
}

/**
 * Yields the events as JSON texts, in batches that fit into one request. An event that is too large is a separate
 * batch.
 */
function* splitIntoBatches(events: readonly IdentifiedEvent[]): Generator<string[]> {
  const encoder = new TextEncoder();
  let batch: string[] = [];
  let bytes = ENVELOPE_BYTES;
  for (const event of events) {
    const text = JSON.stringify(event);
    const size = encoder.encode(text).length + 1;
    if (batch.length > 0 && (batch.length >= MAX_EVENTS_PER_REQUEST || bytes + size > MAX_BODY_BYTES)) {
      yield batch;
      batch = [];
      bytes = ENVELOPE_BYTES;
    }
    batch.push(text);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
