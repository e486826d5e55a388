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

/** Spaces that are not a single blank. */
const SPACES = /\s\s|[^\S ]/;
const PUNCTUATION = /[!-/:-@[-`{-~]/;
const STARTS_AFTER_PUNCTUATION = /(?<=[!-/:-@[-`{-~])[^!-/:-@[-`{-~]/g;
/** Maximum length of each of the two lines of search words. */
const MAX_SEARCH_WORDS_LENGTH = 1_000;
/** Fields of an object that people search for and recognize it by. */
const READABLE_FIELDS = ['key', 'title', 'name'] as const;
/** A deployment has none of these. */
const DEPLOYMENT_FIELDS = ['environment', 'version', 'status'] as const;

/**
 * Returns the search words of an event: its main object, its actor, and last the ids of its objects. Logs show them in this
 * order, and cut them at the end. If they are too long, the ids stay complete. A second line contains the ends of its words
 * after punctuation, which are found as words are. The event's own id and kind are no words: other indexes find them.
 */
export function searchWordsOf(event: EventKind, data: Record<string, unknown>): string {
  const { object } = ABOUT_EVENTS[event];
  const fields = object === 'deployment' ? DEPLOYMENT_FIELDS : READABLE_FIELDS;
  const issue = object === 'issue' ? undefined : data['issue'];
  const end = `${textsIn(data[object], ['id'])}${textsIn(issue, ['id'])}`.slice(0, MAX_SEARCH_WORDS_LENGTH);
  const readable = `${textsIn(data[object], fields)}${textsIn(issue, fields)}${textsIn(data['actor'], ['name'])}`;
  const start = readable.slice(0, MAX_SEARCH_WORDS_LENGTH - end.length);
  const line = `${start}${end}`.slice(1);
  const ends = endsOfWords(start).join(' ').slice(0, MAX_SEARCH_WORDS_LENGTH);
  // NUL and lone surrogates cannot be stored.
  return `${line}\n${ends}`.replaceAll('\u0000', ' ').toWellFormed();
}

/** Returns the texts in these fields of an object, each after a space and in one line. */
function textsIn(object: unknown, fields: readonly string[]): string {
  if (object === null || typeof object !== 'object') return '';
  let texts = '';
  for (const field of fields) {
    const text = (object as Record<string, unknown>)[field];
    if (typeof text === 'string') texts += ` ${SPACES.test(text) ? text.replaceAll(/\s+/g, ' ') : text}`;
  }
  return texts;
}

/**
 * Returns the ends of the words in a text that follow punctuation: `changed` of `status-changed`. As the beginnings of all
 * words are found, each part of a word is.
 */
function endsOfWords(text: string): string[] {
  const ends = new Set<string>();
  for (const word of text.split(' '))
    if (PUNCTUATION.test(word))
      for (const { index } of word.matchAll(STARTS_AFTER_PUNCTUATION)) ends.add(word.slice(index));
  return [...ends];
}

/** Returns whether a search finds events of a kind by this word: the beginning of the kind, or of a part of it. */
export function isFoundInKind(kind: EventKind, word: string): boolean {
  return [kind, ...endsOfWords(kind)].some((part) => part.startsWith(word.toLowerCase()));
}

/** Returns `data` of a stored payload. */
export function dataOf(body: string): Record<string, unknown> {
  return (JSON.parse(body) as { data: Record<string, unknown> }).data;
}

/**
 * Returns the description of an event's main object, taken from {@link searchWordsOf}; null if it was deleted. Events of
 * earlier versions have their id and kind in front.
 */
export function describeEvent(event: { id: string; event: EventKind }, words: string): string | null {
  const line = words.replace(/\n.*/s, '');
  const head = `${event.id} ${event.event}`;
  return (`${line} `.startsWith(`${head} `) ? line.slice(head.length + 1) : line) || null;
}
