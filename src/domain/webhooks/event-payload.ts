import { ABOUT_EVENTS, type EventKind } from './event-kinds.ts';

/** Parts of a payload. `timestamp` is ISO 8601 UTC, `data` the JSON text of an object. */
export type PayloadParts = {
  id: string;
  event: EventKind;
  timestamp: string;
  workspace: { id: string; name: string };
  data: string;
};

/**
 * Returns the payload of an event (docs/receiving.md), the text that is stored, signed and sent. It contains the text
 * of `data` unchanged.
 */
export function payloadText({ id, event, timestamp, workspace, data }: PayloadParts): string {
  const head = JSON.stringify({
    id,
    event,
    timestamp,
    workspace: { id: workspace.id, name: workspace.name },
  });
  return `${head.slice(0, -1)},"data":${data}}`;
}

const MAX_SEARCH_WORDS_LENGTH = 1_000;
/** Fields of an object that people search for. */
const SEARCHABLE_FIELDS = ['id', 'key', 'title', 'name'] as const;

/** Returns the search words of an event: its id and kind, its main object, and its actor. */
export function searchWordsOf(
  event: { id: string; event: EventKind },
  data: Record<string, unknown>,
): string {
  const { object } = ABOUT_EVENTS[event.event];
  const about = [
    ...searchableTexts(data[object]),
    ...(object === 'issue' ? [] : searchableTexts(data['issue'])),
  ];
  const actor = searchableTexts(data['actor'], ['name']);
  const words = [event.id, event.event, ...about, ...actor].join(' ');
  // NUL and lone surrogates cannot be stored.
  return words.slice(0, MAX_SEARCH_WORDS_LENGTH).replaceAll('\u0000', ' ').toWellFormed();
}

/** Returns `data` of a stored payload. */
export function dataOf(body: string): Record<string, unknown> {
  return (JSON.parse(body) as { data: Record<string, unknown> }).data;
}

/** Returns the description of an event's main object, taken from {@link searchWordsOf}; null if it was deleted. */
export function describeEvent(event: { id: string; event: EventKind }, words: string): string | null {
  const head = `${event.id} ${event.event} `;
  return words.startsWith(head) && words.length > head.length ? words.slice(head.length) : null;
}

function searchableTexts(
  object: unknown,
  members: readonly (typeof SEARCHABLE_FIELDS)[number][] = SEARCHABLE_FIELDS,
): string[] {
  if (object === null || typeof object !== 'object') return [];
  return members
    .map((member) => (object as Record<string, unknown>)[member])
    .filter((value) => typeof value === 'string');
}
