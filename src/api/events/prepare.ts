import { hash, randomUUIDv7 } from 'node:crypto';
import { canonicalJson } from '../../domain/common/canonical-json.ts';
import { payloadText, searchWordsOf } from '../../domain/webhooks/event-payload.ts';
import { entrySpans, fieldSpan } from '../../domain/common/json-spans.ts';
import type { NewEvent } from '../../database/webhooks/events.ts';
import { Problem } from '../http/problem.ts';
import type { BodyForm, IncomingEvent, IncomingEvents } from './schema.ts';

const SHOWN_IDS = 10;

type Workspace = { id: string; name: string };

/** A request ready to be stored: its events, and for every event that was sent which one it is. */
export type PreparedRequest = {
  /** In the order sent; `repeated`: the same event stands further ahead in the request. */
  sent: { id: string; repeated: boolean }[];
  /** What is to be stored, no id twice. */
  events: NewEvent[];
};

/**
 * Makes what is stored of checked events; `text` is the body that they came in.
 * @throws Problem `conflict` where the request has one id with two contents
 */
export function prepareRequest(
  { form, events }: IncomingEvents,
  text: string,
  workspace: Workspace,
  now: Date,
): PreparedRequest {
  const data = dataTexts(form, text);
  const request: PreparedRequest = { sent: [], events: [] };
  const hashes = new Map<string, string>();
  const conflicts = new Set<string>();
  for (const [index, event] of events.entries()) {
    const made = prepareEvent(event, data[index] ?? '', workspace, now);
    const earlier = hashes.get(made.id);
    if (earlier === undefined) request.events.push(made);
    else if (earlier !== made.hash) conflicts.add(made.id);
    hashes.set(made.id, earlier ?? made.hash);
    request.sent.push({ id: made.id, repeated: earlier !== undefined });
  }
  if (conflicts.size > 0)
    throw conflictOf([...conflicts], 'used more than once in the request with different content');
  return request;
}

/** 409 that names the ids. */
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
    words: searchWordsOf(named, event.data),
  };
}

/** Two events with one hash say the same. Where a number is too large to be compared, the texts are. */
function contentHash({ event, timestamp, data }: IncomingEvent, text: string): string {
  const head = JSON.stringify([event, timestamp ?? null]);
  return hash('sha256', `${head}\n${canonicalJson(data) ?? `as it came ${text}`}`, 'hex');
}

/** The text of `data` of every event of a body that has been checked. */
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
