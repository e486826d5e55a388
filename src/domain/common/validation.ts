import type { z } from 'zod';
import type { FieldProblem } from './problem-codes.ts';
import { counted } from './text.ts';

type Issue = z.core.$ZodIssue;
type Where = 'body' | 'query';

/** One problem of a body (`pointer`, RFC 6901) or of a parameter (`parameter`, its name). */
export type ProblemEntry = { pointer?: string; parameter?: string; code: FieldProblem; message: string };

/** Converts the first `most` problems that a schema found to entries with messages for the caller. */
export function problemsIn(error: z.ZodError, value: unknown, where: Where, most = Infinity): ProblemEntry[] {
  return error.issues
    .slice(0, most)
    .flatMap((issue) => entriesOf(issue, value, where, most))
    .slice(0, most);
}

/** Returns the number of all problems that a schema found. */
export function countProblems({ issues }: z.ZodError): number {
  return issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0);
}

/** Returns a JSON Pointer (RFC 6901). The empty string is the whole document. */
export function pointerTo(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function entriesOf(issue: Issue, value: unknown, where: Where, most: number): ProblemEntry[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys
      .slice(0, most)
      .map((key) => entry([...issue.path, key], where, 'unknown_member', UNKNOWN_WORDS[where]));
  }
  const [code, message] = wordsFor(issue, value);
  return [entry(issue.path, where, code, message)];
}

function entry(
  path: readonly PropertyKey[],
  where: Where,
  code: FieldProblem,
  message: string,
): ProblemEntry {
  const name = path.length === 0 ? `The ${where}` : `\`${path.map(String).join('.')}\``;
  const location =
    where === 'body' ? { pointer: pointerTo(path) } : { parameter: path.map(String).join('.') };
  return { ...location, code, message: `${name} ${message}.` };
}

function wordsFor(issue: Issue, value: unknown): [FieldProblem, string] {
  switch (issue.code) {
    case 'invalid_type':
      if (valueAt(value, issue.path) === undefined) return ['required', 'is required'];
      return ['wrong_type', `must be ${TYPE_WORDS[issue.expected] ?? issue.expected}`];
    case 'too_big':
      if (issue.origin === 'string')
        return ['too_long', `must have at most ${counted(issue.maximum, 'character')}`];
      if (issue.origin === 'array')
        return ['too_long', `must have at most ${counted(issue.maximum, 'entry', 'entries')}`];
      return ['too_large', `must be at most ${issue.maximum}`];
    case 'too_small':
      if (issue.origin === 'string')
        return ['too_short', `must have at least ${counted(issue.minimum, 'character')}`];
      if (issue.origin === 'array')
        return ['too_short', `must have at least ${counted(issue.minimum, 'entry', 'entries')}`];
      return ['too_small', `must be at least ${issue.minimum}`];
    case 'invalid_value':
      if (valueAt(value, issue.path) === undefined) return ['required', 'is required'];
      return ['not_allowed', `must be one of ${issue.values.map(String).join(', ')}`];
    case 'invalid_format':
      return ['invalid_format', FORMAT_WORDS[issue.format] ?? formatWords(issue.message)];
    case 'custom': {
      const { problem } = (issue.params ?? {}) as { problem?: FieldProblem };
      return [problem ?? 'invalid_format', issue.message];
    }
    default:
      return ['invalid_format', formatWords(issue.message)];
  }
}

/** Returns the words of the schema, such as `must be a token`, or general ones instead of those of the library. */
function formatWords(message: string): string {
  return message.startsWith('must ') ? message : 'has an invalid format';
}

const UNKNOWN_WORDS: Readonly<Record<Where, string>> = {
  body: 'is not a known field',
  query: 'is not a known parameter',
};

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'a string',
  int: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
};

const FORMAT_WORDS: Readonly<Record<string, string>> = {
  guid: 'must be a UUID',
  email: 'must be an e-mail address',
  date: 'must be a date, for example 2026-01-31',
  datetime: 'must be an ISO 8601 time with a time zone, for example 2026-01-31T12:00:00Z',
};

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((inner, part) => {
    if (inner === null || typeof inner !== 'object' || !Object.hasOwn(inner, part)) return undefined;
    return (inner as Record<PropertyKey, unknown>)[part];
  }, value);
}
