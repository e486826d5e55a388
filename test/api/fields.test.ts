import assert from 'node:assert/strict';
import type { z } from 'zod';
import {
  cutPage,
  integerParameter,
  listParameter,
  overlapHours,
  pageOf,
  pageParameters,
} from '../../src/api/http/fields.ts';
import { foundIn } from '../domain/found-problems.ts';
import { uuidOut } from '../../src/domain/common/schema-parts.ts';

const accepts = (schema: z.ZodType, value: unknown) => schema.safeParse(value).success;

describe('a page of a list', () => {
  const rows = ['a', 'b', 'c'].map((id) => ({ id }));

  it('has the cursor of the next page if one row more was read', () => {
    assert.deepEqual(cutPage(rows, 2), { rows: rows.slice(0, 2), nextCursor: 'b' });
  });

  it('has no cursor if it is the last one', () => {
    assert.deepEqual(cutPage(rows, 3), { rows, nextCursor: null });
    assert.deepEqual(cutPage(rows, 4), { rows, nextCursor: null });
    assert.deepEqual(cutPage([], 2), { rows: [], nextCursor: null });
  });

  it('continues after a cursor without a gap or a repeat', () => {
    const all = Array.from({ length: 23 }, (_, n) => ({ id: String(n).padStart(2, '0') }));
    const seen: string[] = [];
    let from: string | null = '';
    while (from !== null && seen.length < 100) {
      const before: string = from;
      const page: ReturnType<typeof cutPage> = cutPage(all.filter(({ id }) => id > before).slice(0, 6), 5);
      seen.push(...page.rows.map(({ id }) => id));
      from = page.nextCursor;
    }
    assert.deepEqual(
      seen,
      all.map(({ id }) => id),
    );
  });

  it('consists of rows and a cursor, and of nothing else', () => {
    const page = pageOf(uuidOut);
    assert.ok(accepts(page, { data: ['a'], next_cursor: null }));
    assert.ok(accepts(page, { data: [], next_cursor: 'a' }));
    for (const wrong of [{ data: ['a'] }, { next_cursor: null }, { data: [], next_cursor: null, more: 1 }])
      assert.ok(!accepts(page, wrong), JSON.stringify(wrong));
  });

  it('is chosen by a limit from 1 to 200 and the id of a row', () => {
    const { limit, cursor } = pageParameters;
    assert.deepEqual([limit.parse('1'), limit.parse('200'), limit.parse(undefined)], [1, 200, undefined]);
    for (const wrong of ['0', '201', '-1', '1.5', 'x']) assert.ok(!accepts(limit, wrong), wrong);
    const id = '019C13EB-B3A0-7000-8000-000000000001';
    assert.deepEqual([cursor.parse(id), cursor.parse(undefined)], [id.toLowerCase(), undefined]);
    assert.ok(!accepts(cursor, 'first'));
  });
});

describe('a whole number in a query', () => {
  const number = integerParameter(0, 10 ** 15);

  it('has digits only', () => {
    assert.deepEqual([number.parse('0'), number.parse('007')], [0, 7]);
    for (const wrong of ['', ' 1', '1 ', '+1', '-1', '1e3', '1_000', '0x1', '1\n'])
      assert.ok(!accepts(number, wrong), JSON.stringify(wrong));
  });

  it('has at most 15 digits, so that it is exact', () => {
    assert.equal(number.parse('9'.repeat(15)), 999_999_999_999_999);
    assert.ok(!accepts(number, `1${'0'.repeat(15)}`));
  });

  it('is in its range', () => {
    const small = integerParameter(5, 7);
    assert.deepEqual(
      ['4', '5', '7', '8'].map((text) => accepts(small, text)),
      [false, true, true, false],
    );
    assert.deepEqual(foundIn(small, '8'), [' not_allowed']);
  });
});

describe('the hours of an overlap', () => {
  it('are from 0 to the maximum, and can be fractions', () => {
    const hours = overlapHours(168);
    for (const right of [0, 0.5, 168]) assert.ok(accepts(hours, right), String(right));
    for (const wrong of [-0.1, 168.1])
      assert.deepEqual(foundIn(hours, wrong), [' not_allowed'], String(wrong));
    for (const wrong of ['1', null]) assert.deepEqual(foundIn(hours, wrong), [' wrong_type'], String(wrong));
  });
});

describe('a list in a query', () => {
  const list = listParameter(['failed', 'held', 'skipped']);

  it('is repeated or separated by commas', () => {
    assert.deepEqual(list.parse('failed'), ['failed']);
    assert.deepEqual(list.parse('failed,held'), ['failed', 'held']);
    assert.deepEqual(list.parse(['failed', 'held,skipped']), ['failed', 'held', 'skipped']);
  });

  it('has each value once, however often it is given', () => {
    assert.deepEqual(list.parse(['held', 'failed,held', 'held']), ['held', 'failed']);
  });

  it('has only known values', () => {
    for (const wrong of ['', 'failed,', 'Failed', 'failed,other', ['failed', 'other']])
      assert.deepEqual(foundIn(list, wrong), [' not_allowed'], String(wrong));
  });
});
