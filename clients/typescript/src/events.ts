import { MAX_BODY_BYTES, MAX_EVENTS_PER_REQUEST } from './vocabulary.ts';
import { pathOf, type Http } from './http.ts';
import { randomHex } from './ids.ts';
import type { CallOptions, EventTypes, OutgoingEvent, TakenEvent } from './types.ts';

/** Room for what stands around the events of a request, in bytes. */
const FRAME_BYTES = 64;

/**
 * Of several requests' worth of events some went in and some did not. Send `left` again to go on: their ids are the
 * same, so nothing comes in twice. `cause` says what stopped it.
 */
export class EventsLeft extends Error {
  override name = 'EventsLeft';
  readonly taken: readonly TakenEvent[];
  readonly left: readonly OutgoingEvent[];

  constructor(taken: readonly TakenEvent[], left: readonly OutgoingEvent[], cause: unknown) {
    super(`${taken.length} events were taken, ${left.length} were not.`, { cause });
    this.taken = taken;
    this.left = left;
  }
}

type Named = OutgoingEvent & { id: string };

export type Events = ReturnType<typeof createEvents>;

/** The way in for events of the workspace. */
export function createEvents(http: Http) {
  /** Under the same ids a request may be sent again without harm, also where its answer was lost. */
  const post = <T>(body: string, signal: AbortSignal | undefined) =>
    http.json<T>({ method: 'POST', path: pathOf('events'), body, isRepeatable: true, signal });

  async function sendAll(events: readonly Named[], signal: AbortSignal | undefined): Promise<TakenEvent[]> {
    const taken: TakenEvent[] = [];
    for (const batch of batchesOf(events)) {
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

  /** Sends one event. It is durable once this resolves. */
  async function send(event: OutgoingEvent, options?: CallOptions): Promise<TakenEvent>;
  /**
   * Sends any number, in requests of 500 and 1 MiB at most; the answers are in their order. Each request is taken
   * whole or not at all.
   * @throws EventsLeft where some requests went in and a later one did not
   */
  async function send(events: readonly OutgoingEvent[], options?: CallOptions): Promise<TakenEvent[]>;
  async function send(
    given: OutgoingEvent | readonly OutgoingEvent[],
    { signal }: CallOptions = {},
  ): Promise<TakenEvent | TakenEvent[]> {
    if (isList(given)) return await sendAll(given.map(named), signal);
    return await post<TakenEvent>(JSON.stringify(named(given)), signal);
  }

  return {
    send,
    /** The kinds of events, each with its schema and a sample. */
    types: async ({ signal }: CallOptions = {}) =>
      (await http.json<EventTypes>({ method: 'GET', path: pathOf('event-types'), signal })).data,
  };
}

function isList(given: OutgoingEvent | readonly OutgoingEvent[]): given is readonly OutgoingEvent[] {
  return Array.isArray(given);
}

function named(event: OutgoingEvent): Named {
  return { ...event, id: event.id ?? `evt_${randomHex()}` };
}

/** The texts of events, in lists that fit into one request each; one that is too large by itself stands alone. */
function* batchesOf(events: readonly Named[]): Generator<string[]> {
  const encoder = new TextEncoder();
  let batch: string[] = [];
  let bytes = FRAME_BYTES;
  for (const event of events) {
    const text = JSON.stringify(event);
    const size = encoder.encode(text).length + 1;
    if (batch.length > 0 && (batch.length >= MAX_EVENTS_PER_REQUEST || bytes + size > MAX_BODY_BYTES)) {
      yield batch;
      batch = [];
      bytes = FRAME_BYTES;
    }
    batch.push(text);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}
