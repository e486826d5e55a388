import { MAX_BODY_BYTES, MAX_EVENTS_PER_REQUEST } from './vocabulary.ts';
import { pathOf, type Http } from './http.ts';
import { randomHex } from './ids.ts';
import { mayPass } from './retry-window.ts';
import type { CallOptions, EventTypes, OutgoingEvent, TakenEvent } from './types.ts';

/** The size of the JSON around the events of a request, with a margin. */
const ENVELOPE_BYTES = 64;

/**
 * Baton did not confirm all events, because a request failed after an earlier one succeeded, or because no request
 * succeeded and this client generated ids. `taken` has the accepted events and `cause` the error. To continue, send the
 * events in `left` again: they have ids, so Baton stores none of them twice.
 */
export class EventsLeft extends Error {
  override name = 'EventsLeft';
  readonly taken: readonly TakenEvent[];
  readonly left: readonly OutgoingEvent[];

  constructor(taken: readonly TakenEvent[], left: readonly OutgoingEvent[], cause: unknown) {
    super(`Baton confirmed ${taken.length} events. ${left.length} are left.`, { cause });
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
    given: readonly OutgoingEvent[],
    signal: AbortSignal | undefined,
  ): Promise<TakenEvent[]> {
    const events = given.map(withId);
    // Before the first request, so that nothing is sent if an event cannot be serialized.
    const batches = splitIntoBatches(events);
    const taken: TakenEvent[] = [];
    for (const batch of batches) {
      try {
        const { data } = await post<{ data: TakenEvent[] }>(`{"events":[${batch.join(',')}]}`, signal);
        taken.push(...data);
      } catch (error) {
        if (taken.length === 0 && !needsGeneratedIds(given, error)) throw error;
        throw new EventsLeft(taken, events.slice(taken.length), error);
      }
    }
    return taken;
  }

  async function sendOne(given: OutgoingEvent, signal: AbortSignal | undefined): Promise<TakenEvent> {
    const event = withId(given);
    const text = JSON.stringify(event);
    try {
      return await post<TakenEvent>(text, signal);
    } catch (error) {
      if (!needsGeneratedIds([given], error)) throw error;
      throw new EventsLeft([], [event], error);
    }
  }

  /**
   * Sends one event. Baton has stored it durably when the promise resolves.
   * @throws EventsLeft if Baton may have accepted an event without an id, but did not confirm it
   * @throws TypeError if the event cannot be serialized
   */
  async function send(event: OutgoingEvent, options?: CallOptions): Promise<TakenEvent>;
  /**
   * Sends any number of events, in requests of at most 500 events and 1 MiB. Returns the results in the order of the events.
   * Baton accepts all events of a request or none of them.
   * @throws EventsLeft if a request fails after an earlier one succeeded, or if Baton may have accepted events without
   * ids, but did not confirm them
   * @throws TypeError if an event cannot be serialized. No event is sent then.
   */
  async function send(events: readonly OutgoingEvent[], options?: CallOptions): Promise<TakenEvent[]>;
  async function send(
    given: OutgoingEvent | readonly OutgoingEvent[],
    { signal }: CallOptions = {},
  ): Promise<TakenEvent | TakenEvent[]> {
    return isList(given) ? await sendAll(given, signal) : await sendOne(given, signal);
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
 * Returns true if the caller needs the ids that this client generated: after this error the same events can be sent again,
 * and Baton may already have stored them.
 */
function needsGeneratedIds(given: readonly OutgoingEvent[], error: unknown): boolean {
  return mayPass(error) && given.some(({ id }) => id == null);
}

/**
 * Returns the events as JSON texts, in batches that fit into one request. An event that is too large is a separate
 * batch.
 * @throws TypeError if an event cannot be serialized
 */
function splitIntoBatches(events: readonly IdentifiedEvent[]): string[][] {
  const encoder = new TextEncoder();
  const batches: string[][] = [];
  let batch: string[] = [];
  let bytes = ENVELOPE_BYTES;
  for (const event of events) {
    const text = JSON.stringify(event);
    const size = encoder.encode(text).length + 1;
    if (batch.length > 0 && (batch.length >= MAX_EVENTS_PER_REQUEST || bytes + size > MAX_BODY_BYTES)) {
      batches.push(batch);
      batch = [];
      bytes = ENVELOPE_BYTES;
    }
    batch.push(text);
    bytes += size;
  }
  if (batch.length > 0) batches.push(batch);
  return batches;
}
