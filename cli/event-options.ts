import { contentOf } from './ask.ts';
import { usageError } from './exit-codes.ts';
import type { Api } from './http.ts';
import type { Io } from './io.ts';
import type { EventType, CompleteList } from './shapes.ts';

/** The options of `event send`. */
export type SendOptions = {
  event?: string;
  data?: string;
  sample?: true;
  id?: string;
  timestamp?: string;
  file?: string;
};

/**
 * Returns the body that the options describe. Given JSON is passed on unchanged, because the service keeps the text
 * of `data` byte for byte. The server validates the contents; it is only asked for a sample.
 */
export async function eventBodyOf(options: SendOptions, api: () => Api, io: Io): Promise<string> {
  const { event, data, sample, id, timestamp, file } = options;
  if (file !== undefined) {
    if ([event, data, sample, id, timestamp].some((other) => other !== undefined))
      throw usageError('--file contains whole events. Use it without other options');
    return batchOf(await contentOf(file, io));
  }
  if (event === undefined) throw usageError('Use --event or --file');
  if ((data === undefined) === (sample === undefined)) throw usageError('Use either --data or --sample');
  const content = data === undefined ? JSON.stringify(await sampleOf(api(), event)) : await jsonOf(data, io);
  const members = Object.entries({ id, event, timestamp }).filter(([, value]) => value !== undefined);
  const written = members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return `{${written.join(',')},"data":${content}}`;
}

/** Returns all event types. */
export async function eventTypes(api: Api): Promise<EventType[]> {
  return (await api.call<CompleteList<EventType>>('GET', '/api/v1/event-types')).data;
}

/** Returns an event type. @throws CliError if the kind is unknown */
export async function eventTypeOf(api: Api, kind: string): Promise<EventType> {
  const types = await eventTypes(api);
  const found = types.find(({ event }) => event === kind);
  if (found !== undefined) return found;
  throw usageError(`"${kind}" is not an event kind. Kinds: ${types.map(({ event }) => event).join(', ')}`);
}

async function sampleOf(api: Api, kind: string): Promise<unknown> {
  return (await eventTypeOf(api, kind)).sample.data;
}

/** Returns JSON text: as given, from a file with `@` before its path, or from stdin with `-`. */
async function jsonOf(given: string, io: Io): Promise<string> {
  const text = given === '-' || given.startsWith('@') ? await contentOf(given.replace(/^@/, ''), io) : given;
  if (!isJson(text)) throw usageError('--data is not valid JSON');
  return text.trim();
}

/**
 * Returns the body for an array of events, an object `{ "events": [...] }`, a single event, or one event per line.
 */
function batchOf(text: string): string {
  if (isJson(text)) return text.trim().startsWith('[') ? `{"events":${text.trim()}}` : text.trim();
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const wrong = lines.findIndex((line) => !isJson(line));
  if (lines.length === 0 || wrong === 0) throw usageError('--file is not valid JSON');
  if (wrong > 0) throw usageError(`--file: non-empty line ${wrong + 1} is not valid JSON`);
  return `{"events":[${lines.join(',')}]}`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
