import { createHash, randomUUID } from 'node:crypto';

/**
 * Returns a UUID of version 7 with the time `at` and its other bits derived from `text`. The same input gives the same
 * id, so that repeated work after a crash uses the same ids. `at` is a time, or a UUID of version 7 whose time is used.
 */
export function derivedUuid(at: Date | string, text: string): string {
  const bits = bitsOf(text);
  const variant = ((Number.parseInt(bits.slice(3, 4), 16) & 0x3) | 0x8).toString(16);
  return `${prefixOf(at)}-7${bits.slice(0, 3)}-${variant}${bits.slice(4, 7)}-${bits.slice(7, 19)}`;
}

/** Before all ids. */
export const NIL = '00000000-0000-0000-0000-000000000000';

/** The number of positions in {@link orderedUuid}. */
const POSITIONS = 2 ** 24;

/**
 * Like {@link derivedUuid}, but ids of the same millisecond sort by `position`, a whole number. The id contains 24 bits of
 * it, so ids around a multiple of 2^24 sort the other way round. It also contains 48 bits of a hash of the text, which
 * distinguish ids with the same position.
 */
export function orderedUuid(at: Date, position: number, text: string): string {
  const hex = (position % POSITIONS).toString(16).padStart(6, '0');
  return `${prefixOf(at)}-7${hex.slice(0, 3)}-8${hex.slice(3)}-${bitsOf(text).slice(0, 12)}`;
}

let latest = { ms: 0, position: 0 };

/**
 * Returns a new id that sorts after all ids that this process got here before, also within a millisecond and after the clock was
 * set back. `randomUUIDv7` only sorts by the millisecond.
 */
export function nextUuid(): string {
  const now = Date.now();
  latest = now > latest.ms ? { ms: now, position: 0 } : { ...latest, position: latest.position + 1 };
  return orderedUuid(new Date(latest.ms), latest.position, randomUUID());
}

/** Returns an id before all derived ids of this millisecond. */
export function lowestIdAt(time: Date): string {
  return `${prefixOf(time)}-0000-0000-000000000000`;
}

/**
 * Returns an id that is not after that of any row created at `time` or later. `leadMs` is the longest time, in
 * milliseconds, that the time of an id can be before the creation of its row.
 */
export function lowestIdSince(time: Date, leadMs: number): string {
  return lowestIdAt(new Date(Math.max(0, time.getTime() - leadMs)));
}

function prefixOf(at: Date | string): string {
  const time =
    typeof at === 'string' ? at.slice(0, 13).replace('-', '') : at.getTime().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}`;
}

function bitsOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/**
 * Returns a function that returns the ids of a run's steps in order, derived from the run's id and the step's number.
 * Planning that is repeated after a crash gets the same ids, so that recorded data still belongs to its steps.
 */
export function stepIdsOf(executionId: string): () => string {
  let number = 0;
  return () => {
    number += 1;
    return derivedUuid(executionId, `${executionId}:step:${number}`);
  };
}
