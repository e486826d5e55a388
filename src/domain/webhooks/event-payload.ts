import { ABOUT_EVENTS, type EventKind } from './event-kinds.ts';

/** What a payload is made of; `timestamp` is ISO 8601 UTC, `data` the text of an object in JSON. */
export type PayloadParts = {
  id: string;
  event: EventKind;
  timestamp: string;
  workspace: { id: string; name: string };
  data: string;
};

/**
 * The payload of an event (docs/receiving.md) as the one text that is stored, signed and sent. The text of `data`
 * stands in it as it came.
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

const MAX_WORDS_LENGTH = 1_000;
/** By which members of an object people look for it. */
const SEARCHABLE_FIELDS = ['id', 'key', 'title', 'name'] as const;

/** By what the log's search finds an event: its id and kind, what it is about, and who did it. */
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
  // Neither NUL nor half of a surrogate pair can be stored.
  return words.slice(0, MAX_WORDS_LENGTH).replaceAll('\u0000', ' ').toWellFormed();
}

/** What an event is about, from what {@link searchWordsOf} made of it; null where that is no longer kept. */
export function aboutEvent(event: { id: string; event: EventKind }, words: string): string | null {
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
