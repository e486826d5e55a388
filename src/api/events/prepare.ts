import { hash, randomUUIDv7 } from 'node:crypto';
import { canonicalJson, hasRoundedNumber } from '../../domain/common/canonical-json.ts';
import { beginTurn } from '../../domain/common/turn.ts';
import { payloadText, searchWordsOf } from '../../domain/webhooks/event-payload.ts';
import { entrySpans, fieldSpan } from '../../domain/common/json-spans.ts';
import type { NewEvent } from '../../database/webhooks/events.ts';
import { Problem } from '../http/problem.ts';
import type { BodyForm, IncomingEvent, IncomingEvents } from './schema.ts';

const SHOWN_IDS = 10;

type Workspace = { id: string; name: string };

/** A request ready to be stored: its events, and the id of each event that was sent. */
export type PreparedRequest = {
  /** In the order sent. `repeated`: the same event occurs earlier in the request. */
  sent: { id: string; repeated: boolean }[];
  /** The events to store, each id once. */
  events: NewEvent[];
};

/**
 * Converts validated events to rows, in turns; `text` is the request body.
 * @throws Problem `conflict` if the request contains one id with two contents
 */
export async function prepareRequest(
  { form, events }: IncomingEvents,
  text: string,
  workspace: Workspace,
  now: Date,
): Promise<PreparedRequest> {
  const data = dataTexts(form, text);
  const request: PreparedRequest = { sent: [], events: [] };
  const hashes = new Map<string, string>();
  const conflicts = new Set<string>();
  const turn = beginTurn();
  for (const [index, event] of events.entries()) {
    const made = prepareEvent(event, data[index] ?? '', workspace, now);
    const earlier = hashes.get(made.id);
    if (earlier === undefined) request.events.push(made);
    else if (earlier !== made.hash) conflicts.add(made.id);
    hashes.set(made.id, earlier ?? made.hash);
    request.sent.push({ id: made.id, repeated: earlier !== undefined });
    if (turn.isOver()) await turn.next();
  }
  if (conflicts.size > 0)
    throw conflictOf([...conflicts], 'used more than once in the request with different content');
  return request;
}

/** Returns a 409 that names the ids. */
export function conflictOf(ids: readonly string[], what = 'already used with different content'): Problem {
  const more = ids.length > SHOWN_IDS ? ` and ${ids.length - SHOWN_IDS} more` : '';
  const named = ids.slice(0, SHOWN_IDS).join(', ');
  return new Problem('conflict', `Event ids ${what}: ${named}${more}. Nothing was accepted.`);
}

function prepareEvent(event: IncomingEvent, data: string, workspace: Workspace, now: Date): NewEvent {
  const id = event.id ?? `evt_${randomUUIDv7().replaceAll('-', '')}`;
  const timestamp = event.timestamp ?? now.toISOString();
  const named = { id, event: event.event };
  return {
    ...named,
    workspaceId: workspace.id,
    timestamp,
    hash: contentHash(event, data),
    body: payloadText({ ...named, timestamp, workspace, data }),
    words: searchWordsOf(named.event, event.data),
  };
}

/** Values of an event that are compared. A hundred thousand would occupy the process for a tenth of a second. */
const MAX_COMPARED_VALUES = 10_000;

/**
 * Returns a hash of the content: equal hashes mean equal events. If a number is too large or too exact to compare, or there are
 * too many values, the text is hashed.
 */
function contentHash({ event, timestamp, data }: IncomingEvent, text: string): string {
  const head = JSON.stringify([event, timestamp ?? null]);
  const content = hasRoundedNumber(text) ? null : canonicalJson(data, MAX_COMPARED_VALUES);
  return hash('sha256', `${head}\n${content ?? `as it came ${text}`}`, 'hex');
}

/** Returns the text of `data` of each event in a validated body. */
function dataTexts(form: BodyForm, text: string): string[] {
  const events = form === 'one' ? [{ start: 0 }] : entrySpans(text, startOfList(form, text));
  return events.map(({ start }) => {
    const span = fieldSpan(text, 'data', start);
    return span === null ? '' : text.slice(span.start, span.end);
  });
}

function startOfList(form: BodyForm, text: string): number {
  return form === 'events' ? (fieldSpan(text, 'events')?.start ?? 0) : 0;
}
