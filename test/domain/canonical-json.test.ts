import assert from 'node:assert/strict';
import { canonicalJson, hasRoundedNumber, isDeeperThan } from '../../src/domain/common/canonical-json.ts';
import { chunksOf } from '../../src/domain/common/chunks.ts';
import {
  isStorableJson,
  isStorableText,
  storable,
  storableJson,
  UUID,
} from '../../src/domain/common/text.ts';
import { countFailures, selectCounting } from '../../src/domain/webhooks/failure-streak.ts';

describe('canonical JSON', () => {
  const rows: [value: unknown, text: string | null][] = [
    [null, 'null'],
    [true, 'true'],
    ['ä"', '"ä\\""'],
    [1.5, '1.5'],
    [1e21, null],
    [2 ** 53 - 1, '9007199254740991'],
    [2 ** 53, null],
    [Number.POSITIVE_INFINITY, null],
    [Number.NaN, null],
    [[], '[]'],
    [{}, '{}'],
    [[1, [2, 'x']], '[1,[2,"x"]]'],
    [{ b: 1, a: { d: [], c: null } }, '{"a":{"c":null,"d":[]},"b":1}'],
    [{ 'a"': 1 }, '{"a\\"":1}'],
    [[1, 2 ** 53], null],
    [{ a: { b: 2 ** 53 } }, null],
  ];
  for (const [value, text] of rows) {
    it(`of ${JSON.stringify(value)} is ${text ?? 'missing, since a number is not exact'}`, () => {
      assert.equal(canonicalJson(value), text);
    });
  }
});

describe('the canonical text of a value with too many values', () => {
  it('is missing', () => {
    for (const [value, count] of [
      ['x', 1],
      [[1, 2], 3],
      [{ b: [1], a: 2 }, 4],
      [{ a: 1, b: 2, c: 3 }, 4],
    ] as const) {
      assert.equal(canonicalJson(value, count), canonicalJson(value), JSON.stringify(value));
      assert.equal(canonicalJson(value, count - 1), null, JSON.stringify(value));
    }
  });
});

describe('a number in a JSON text', () => {
  const rounded = [
    '9007199254740993',
    '-9007199254740993',
    '12345678901234567',
    '0.12345678901234567891',
    '1.0000000000000001',
    '100000000000000000000001',
    '1.00000000000000000000001',
    '1e400',
    '-1E+400',
    '1e-400',
    '123456789012345678e1',
    '1.2345678901234567891e2',
    '1234567890123456.7e-5',
  ];
  for (const number of rounded) {
    it(`is rounded if it is ${number}`, () => {
      for (const text of [
        number,
        `[${number}]`,
        `{"a":"","b":[1,{"c":${number}}]}`,
        `["\\\\",${number},"e"]`,
      ])
        assert.equal(hasRoundedNumber(text), true, text);
    });
  }

  const exact = [
    '7',
    '9007199254740992',
    '-9007199254740991',
    '100000000000000000000000',
    '0.000000000000000000',
    '-0.0000000000000000',
    '1.50000000000000000000',
    '0.00000000000000000000015',
    '1e5',
    '-1E5',
    '1e-7',
    '1.5e+300',
    '10.50e10',
    '0.1e309',
    '0.0012e3',
    '0e0',
    '123456789012345',
    '12345678901234e25',
  ];
  for (const number of exact) {
    it(`is exact if it is ${number}`, () => {
      for (const text of [number, `[${number},${number}]`, `{"a\\"":[1,{"c":${number}}],"b":""}`])
        assert.equal(hasRoundedNumber(text), false, text);
    });
  }

  it('is not text that looks like one', () => {
    const looks = rounded.flatMap((text) => [
      `"${text}"`,
      `"x\\"${text}"`,
      `"\\\\", "${text}"`,
      `"\\"", "\\n${text}"`,
    ]);
    for (const text of looks) assert.equal(hasRoundedNumber(`[${text}]`), false, text);
    assert.equal(hasRoundedNumber(JSON.stringify({ [rounded.join()]: 1 })), false);
    assert.equal(hasRoundedNumber(JSON.stringify(Array.from({ length: 1_001 }, () => '1e400'))), false);
  });

  it('counts as rounded after 1,000 exact ones that are long or have an exponent', () => {
    for (const number of ['1e1', '1.50000000000000000000']) {
      const many = (count: number) => `[${Array.from({ length: count }, () => number).join()}]`;
      assert.equal(hasRoundedNumber(many(1_000)), false, number);
      assert.equal(hasRoundedNumber(many(1_001)), true, number);
    }
  });
});

describe('the depth of a JSON value', () => {
  it('counts the value itself, objects and lists', () => {
    const rows: [value: unknown, depth: number][] = [
      [1, 0],
      [null, 0],
      [[], 1],
      [{}, 1],
      [{ a: 1, b: [2] }, 2],
      [[1, { a: [] }], 3],
    ];
    for (const [value, depth] of rows) {
      assert.equal(isDeeperThan(value, depth), false, JSON.stringify(value));
      if (depth > 0) assert.equal(isDeeperThan(value, depth - 1), true, JSON.stringify(value));
    }
  });
});

describe('storable text', () => {
  it('has no NUL and no lone surrogate', () => {
    for (const text of ['', 'ä', '😀']) assert.equal(isStorableText(text), true);
    for (const text of ['\u0000', 'a\u0000b', '\ud800', '\udc00x']) assert.equal(isStorableText(text), false);
    assert.equal(storable('a\u0000b\u0000\ud800'), 'ab\ufffd');
  });

  it('is required of all strings and names in a JSON value', () => {
    for (const value of [null, 1, true, 'x', [], {}, { a: ['b', { c: 'd' }] }])
      assert.equal(isStorableJson(value), true);
    for (const value of ['\u0000', ['x', '\u0000'], { a: 'x', b: '\ud800' }, { a: { 'b\u0000': 1 } }])
      assert.equal(isStorableJson(value), false);
  });

  it('replaces a JSON value only if it must change', () => {
    for (const value of [undefined, null, 7, 'x', ['\\u12']]) assert.equal(storableJson(value), value);
    assert.deepEqual(storableJson(['\\ud800', '\\u0000']), ['\\ud800', '\\u0000'], 'texts of escapes');
    for (const bad of ['\u0000', '\ud800', '\udaff', '\udfff']) {
      assert.deepEqual(storableJson([bad, { [`k${bad}`]: [1, null] }]), [
        storable(bad),
        { [`k${storable(bad)}`]: [1, null] },
      ]);
    }
  });

  it('can be a UUID in lower case', () => {
    const id = '019c13eb-b3a0-7000-8000-00000000000f';
    assert.match(id, UUID);
    for (const text of [` ${id}`, `${id}0`, id.toUpperCase(), id.slice(1), id.replaceAll('-', '')])
      assert.doesNotMatch(text, UUID);
  });
});

describe('chunks', () => {
  const chunksFrom = async (items: Iterable<number> | AsyncIterable<number>, size: number) => {
    const chunks: number[][] = [];
    for await (const chunk of chunksOf(items, size)) chunks.push(chunk);
    return chunks;
  };

  it('have a size, except the last one', async () => {
    assert.deepEqual(await chunksFrom([1, 2, 3, 4, 5], 2), [[1, 2], [3, 4], [5]]);
    assert.deepEqual(await chunksFrom([1, 2, 3, 4], 2), [
      [1, 2],
      [3, 4],
    ]);
    assert.deepEqual(await chunksFrom([], 2), []);
  });
});

describe('the failures in a row of a webhook', () => {
  const rows: [what: string, before: number, results: string, count: number, reachedLimit: boolean][] = [
    ['stay without results', 2, '', 2, false],
    ['grow with each failure', 0, '---', 3, false],
    ['start again after a success', 2, '-+-', 1, false],
    ['are zero after a success', 2, '-+', 0, false],
    ['disable the webhook at the limit', 2, '---', 5, true],
    ['disable it even if a success follows', 4, '-+', 5, true],
    ['disable it if they are beyond the limit', 6, '-', 7, true],
  ];
  for (const [what, before, results, count, reachedLimit] of rows) {
    it(what, () => {
      const succeeded = Array.from(results, (mark) => mark === '+');
      assert.deepEqual(countFailures(before, succeeded, 5), { count, reachedLimit });
    });
  }

  it('leave out failures of attempts that began before the webhook was enabled, but no successes', () => {
    const results = [0, 1, 2].flatMap((known) =>
      [true, false].map((succeeded) => ({ succeeded, enabled_count: known })),
    );
    assert.deepEqual(
      selectCounting(results, 1).map(({ succeeded, enabled_count: known }) => [succeeded, known]),
      [
        [true, 0],
        [true, 1],
        [false, 1],
        [true, 2],
      ],
    );
  });
});
