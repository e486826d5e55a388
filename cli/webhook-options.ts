import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { EVENT_KINDS } from '../src/domain/webhooks/event-kinds.ts';
import { contentOf, readSecret } from './ask.ts';
import { usageError } from './exit-codes.ts';
import type { Io } from './io.ts';

/** Options that select the events of a webhook. */
export type EventOptions = { event?: string[]; filter?: string[]; events?: string };

/** A filter of the request. The server knows the fields. */
type GivenFilter = { field: string; changed_to: unknown } | { field: string; values: unknown[] };
type GivenSubscription = { event: string; filters: GivenFilter[] };

const FILTER_HELP = `
Filters:
  --filter priority=High,Critical                the priority is one of these
  --filter 'status->Done'                        the status changed to this
  --filter 'issue.updated:status->Done'          the same, for one of several kinds
  A value in double quotes is read as JSON, so that it can contain a comma.
  All filters of a kind must match. Fields: status, priority, type, assignee, project, environment.`;

/** Adds the options, and the help for filters. */
export function addEventOptions(command: Command): Command {
  return command
    .option('--event <kind...>', 'event kinds to send, for example issue.created, issue.* or all')
    .option('--filter <filter...>', 'only events that match: [KIND:]FIELD=VALUE,… or [KIND:]FIELD->VALUE')
    .option('--events <json>', 'kinds and filters as JSON of the API; @PATH reads a file, - reads stdin')
    .addHelpText('after', FILTER_HELP);
}

/** Returns the `events` that the options describe; undefined if there are none. */
export async function subscriptionsOf(
  { event, filter = [], events }: EventOptions,
  io: Io,
): Promise<unknown> {
  if (events !== undefined) {
    if (event !== undefined || filter.length > 0)
      throw usageError('Use either --events, or --event and --filter');
    return parsedJson(
      '--events',
      /^(@|-$)/.test(events) ? await contentOf(events.replace(/^@/, ''), io) : events,
    );
  }
  if (event === undefined) {
    if (filter.length > 0) throw usageError('--filter requires --event');
    return undefined;
  }
  const subscriptions = [...new Set(event.flatMap((one) => one.split(',').flatMap(kindsOf)))].map(
    (kind): GivenSubscription => ({ event: kind, filters: [] }),
  );
  for (const text of filter) {
    const { kind, ...rest } = filterOf(text);
    const meant = subscriptions.filter((one) => kind === undefined || one.event === kind);
    if (meant.length === 0) throw usageError(`--filter "${text}" is for a kind that no --event names`);
    for (const { filters } of meant) filters.push(rest.filter);
  }
  return subscriptions;
}

/** An unknown prefix is left for the server to reject. */
function kindsOf(word: string): string[] {
  if (word === 'all') return [...EVENT_KINDS];
  if (!word.endsWith('.*')) return [word];
  const kinds = EVENT_KINDS.filter((kind) => kind.startsWith(word.slice(0, -1)));
  if (kinds.length === 0) throw usageError(`No event kind starts with "${word.slice(0, -1)}"`);
  return kinds;
}

function filterOf(text: string): { kind: string | undefined; filter: GivenFilter } {
  const match = /^(?:([a-z]+\.[a-z]+):)?\s*([a-z_]+)\s*(=|->)\s*(.*)$/s.exec(text);
  const [, kind, field = '', operator, value = ''] = match ?? [];
  if (match === null) throw usageError(`--filter "${text}" must be FIELD=VALUE or FIELD->VALUE`);
  if (operator === '->') return { kind, filter: { field, changed_to: valueOf(value) } };
  // Commas separate values, except inside quotes.
  const values = value.match(/"(?:[^"\\]|\\.)*"|[^,]+/g) ?? [''];
  return { kind, filter: { field, values: values.map(valueOf) } };
}

function valueOf(text: string): unknown {
  return text.trim().startsWith('"') ? parsedJson('--filter', text) : text.trim();
}

function parsedJson(option: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw usageError(`${option}: ${text.length > 60 ? 'this' : text} is not valid JSON`);
  }
}

/** Returns the secret of a new webhook: from a file, none, or 32 random bytes. */
export async function newSecret(
  options: {
    /** False with `--no-secret`. */
    secret: boolean;
    secretFile?: string;
  },
  io: Io,
): Promise<{ secret: string | undefined; madeHere: boolean }> {
  const { secret, secretFile } = options;
  if (!secret && secretFile !== undefined) throw usageError('Use either --secret-file or --no-secret');
  if (secretFile !== undefined) return { secret: await readSecret(secretFile, io), madeHere: false };
  return secret
    ? { secret: randomBytes(32).toString('hex'), madeHere: true }
    : { secret: undefined, madeHere: false };
}
