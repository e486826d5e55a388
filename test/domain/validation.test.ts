import assert from 'node:assert/strict';
import { z } from 'zod';
import { fieldProblem, givenTime, shownAs, text, uuid } from '../../src/domain/common/schema-parts.ts';
import {
  countProblems,
  pointerTo,
  problemsIn,
  type ProblemEntry,
} from '../../src/domain/common/validation.ts';
import { foundIn } from './found-problems.ts';

function entriesOf(schema: z.ZodType, value: unknown, where: 'body' | 'query' = 'body'): ProblemEntry[] {
  const { error } = schema.safeParse(value);
  assert.ok(error, 'it is valid');
  return problemsIn(error, value, where);
}

describe('the problems of a request', () => {
  const known = z.strictObject({ a: z.strictObject({ b: z.string() }) });

  it('name a field of the body by a JSON Pointer', () => {
    assert.deepEqual(entriesOf(known, { a: { b: 1 } }), [
      { pointer: '/a/b', code: 'wrong_type', message: '`a.b` must be a string.' },
    ]);
    assert.deepEqual(entriesOf(known, 1), [
      { pointer: '', code: 'wrong_type', message: 'The body must be an object.' },
    ]);
  });

  it('name a parameter of the query', () => {
    assert.deepEqual(entriesOf(z.strictObject({ limit: z.string() }), {}, 'query'), [
      { parameter: 'limit', code: 'required', message: '`limit` is required.' },
    ]);
    assert.deepEqual(entriesOf(z.strictObject({ status: z.array(z.int()) }), { status: [1, 'x'] }, 'query'), [
      { parameter: 'status.1', code: 'wrong_type', message: '`status.1` must be a number.' },
    ]);
    assert.deepEqual(entriesOf(z.strictObject({}), { x: '1' }, 'query'), [
      { parameter: 'x', code: 'unknown_member', message: '`x` is not a known parameter.' },
    ]);
  });

  it('list each unknown field', () => {
    assert.deepEqual(entriesOf(known, { a: { b: 'x', c: 1, d: 2 } }), [
      { pointer: '/a/c', code: 'unknown_member', message: '`a.c` is not a known field.' },
      { pointer: '/a/d', code: 'unknown_member', message: '`a.d` is not a known field.' },
    ]);
  });

  it('are as many as are asked for, and are all counted', () => {
    const schema = z.strictObject({ a: z.string(), b: z.strictObject({}), c: z.int() });
    const { error } = schema.safeParse({ b: { x: 1, y: 2, z: 3 }, v: 4, w: 5 });
    assert.ok(error);
    const pointers = (most?: number) => problemsIn(error, {}, 'body', most).map(({ pointer }) => pointer);
    const all = ['/a', '/b/x', '/b/y', '/b/z', '/c', '/v', '/w'];
    assert.deepEqual(pointers(), all);
    for (const most of [0, 1, 2, 3, 4, 5, 6, 7, 8]) assert.deepEqual(pointers(most), all.slice(0, most));
    assert.equal(countProblems(error), 7);
  });

  const rows: [what: string, schema: z.ZodType, value: unknown, code: string, message: string][] = [
    ['a missing value', z.string(), undefined, 'required', 'is required'],
    ['no string', z.string(), 1, 'wrong_type', 'must be a string'],
    ['no whole number', z.int(), 1.5, 'wrong_type', 'must be a whole number'],
    ['no number', z.number(), 'x', 'wrong_type', 'must be a number'],
    ['no boolean', z.boolean(), 'x', 'wrong_type', 'must be true or false'],
    ['no object', z.strictObject({}), [], 'wrong_type', 'must be an object'],
    ['no record', z.record(z.string(), z.string()), 1, 'wrong_type', 'must be an object'],
    ['no array', z.array(z.string()), {}, 'wrong_type', 'must be an array'],
    ['another type', z.date(), 1, 'wrong_type', 'must be date'],
    ['a long string', z.string().max(2), 'abc', 'too_long', 'must have at most 2 characters'],
    ['a long array', z.array(z.int()).max(1), [1, 2], 'too_long', 'must have at most 1 entry'],
    ['a longer array', z.array(z.int()).max(2), [1, 2, 3], 'too_long', 'must have at most 2 entries'],
    ['a large number', z.number().max(2), 3, 'too_large', 'must be at most 2'],
    ['a short string', z.string().min(2), 'a', 'too_short', 'must have at least 2 characters'],
    ['a short array', z.array(z.int()).min(1), [], 'too_short', 'must have at least 1 entry'],
    ['a shorter array', z.array(z.int()).min(2), [], 'too_short', 'must have at least 2 entries'],
    ['an empty string', z.string().min(1), '', 'too_short', 'must have at least 1 character'],
    ['a small number', z.number().min(2), 1, 'too_small', 'must be at least 2'],
    ['another word', z.enum(['a', 'b']), 'c', 'not_allowed', 'must be one of a, b'],
    ['no word', z.enum(['a', 'b']), undefined, 'required', 'is required'],
    ['no UUID', uuid, 'x', 'invalid_format', 'must be a UUID'],
    ['no e-mail address', z.email(), 'x', 'invalid_format', 'must be an e-mail address'],
    ['no date', z.iso.date(), 'x', 'invalid_format', 'must be a date, for example 2026-01-31'],
    [
      'no time',
      givenTime,
      '2026-01-31T12:00:00',
      'invalid_format',
      'must be an ISO 8601 time with a time zone, for example 2026-01-31T12:00:00Z',
    ],
    ['another format', z.base64(), '?', 'invalid_format', 'has an invalid format'],
    ['another pattern', z.string().regex(/^a/), 'b', 'invalid_format', 'has an invalid format'],
    [
      'a pattern with words',
      z.string().regex(/^a/, 'must begin with a'),
      'b',
      'invalid_format',
      'must begin with a',
    ],
    [
      'no fitting alternative, with words',
      z.union([z.literal(''), z.literal('a')], { error: 'must be empty or a' }),
      'b',
      'invalid_format',
      'must be empty or a',
    ],
    ['no fitting alternative', z.union([z.string(), z.int()]), {}, 'invalid_format', 'has an invalid format'],
    ['a rule without a code', z.string().refine(() => false, 'is odd'), 'x', 'invalid_format', 'is odd'],
    [
      'a rule with a code',
      z.string().superRefine((_, context) => context.addIssue(fieldProblem('blank', 'is blank'))),
      'x',
      'blank',
      'is blank',
    ],
  ];
  for (const [what, schema, value, code, message] of rows) {
    it(`report ${what} with its own code`, () => {
      const found = entriesOf(z.strictObject({ a: schema }), value === undefined ? {} : { a: value });
      assert.deepEqual(found, [{ pointer: '/a', code, message: `\`a\` ${message}.` }]);
    });
  }

  it('tell a missing field from null and from an inherited one', () => {
    const schema = z.strictObject({ a: z.string() });
    assert.deepEqual(foundIn(schema, { a: null }), ['/a wrong_type']);
    assert.deepEqual(foundIn(z.strictObject({ a: z.enum(['x']) }), { a: null }), ['/a not_allowed']);
    const inherited = z.object({ toString: z.string() });
    assert.deepEqual(foundIn(inherited, {}), ['/toString required']);
    const nested = z.strictObject({ a: z.array(z.strictObject({ b: z.string() })) });
    assert.deepEqual(foundIn(nested, { a: [{ b: 'x' }, {}] }), ['/a/1/b required']);
  });
});

describe('a JSON Pointer', () => {
  it('escapes ~ and /', () => {
    assert.equal(pointerTo([]), '');
    assert.equal(pointerTo(['a', 0, 'b/c~d/~']), '/a/0/b~1c~0d~1~0');
  });
});

describe('a text with limits', () => {
  const limited = text({ least: 2, most: 3 });

  const rows: [value: string, found: string[]][] = [
    ['ab', []],
    ['abc', []],
    ['😀😀😀', []],
    ['a', [' too_short']],
    ['', [' too_short']],
    ['abcd', [' too_long']],
    ['😀😀😀😀', [' too_long']],
    ['  ', [' blank']],
    ['a\u0000', [' not_storable']],
    ['ab\ud800', [' not_storable']],
    ['\u0000', [' too_short', ' not_storable']],
  ];
  for (const [value, found] of rows) {
    it(
      found.length > 0 ? `refuses ${JSON.stringify(value)}:${found.join(' and')}` : `accepts ${value}`,
      () => {
        assert.deepEqual(foundIn(limited, value), found);
      },
    );
  }

  it('may be blank if it may be empty', () => {
    const free = text({ most: 3 });
    for (const value of ['', ' ']) assert.deepEqual(foundIn(free, value), []);
    assert.deepEqual(foundIn(text({ least: 1, most: 3 }), ' '), [' blank']);
  });

  it('names the least number of characters', () => {
    const messageOf = (least: number) => entriesOf(text({ least, most: 9 }), '')[0]?.message;
    assert.equal(messageOf(1), 'The body must have at least 1 character.');
    assert.equal(messageOf(2), 'The body must have at least 2 characters.');
  });
});

describe('the shown form of a schema', () => {
  it('replaces the generated one, except its description', () => {
    const jsonSchema = { description: 'A time', anyOf: [{}], pattern: 'x' };
    shownAs({ type: 'string', format: 'date-time' }).override({ jsonSchema });
    assert.deepEqual(jsonSchema, { description: 'A time', type: 'string', format: 'date-time' });
  });
});

describe('a time in a request', () => {
  it('has a zone', () => {
    assert.deepEqual(givenTime.parse('2026-01-31T12:00:00+02:00'), new Date('2026-01-31T10:00:00.000Z'));
    assert.ok(!givenTime.safeParse('2026-01-31T12:00:00').success);
    assert.ok(!givenTime.safeParse('2026-01-31').success);
  });

  it('is from 1970 to 9999', () => {
    assert.deepEqual(givenTime.parse('1969-12-31T23:59:59Z'), new Date(0));
    assert.deepEqual(givenTime.parse('0001-01-01T00:00:00Z'), new Date(0));
    assert.deepEqual(givenTime.parse('9999-12-31T23:59:59-05:00'), new Date('9999-12-31T23:59:59.999Z'));
  });
});

describe('a UUID in a request', () => {
  it('is converted to lower case', () => {
    const id = '019C13EB-B3A0-7000-8000-0000000000AF';
    assert.equal(uuid.parse(id), id.toLowerCase());
  });
});
