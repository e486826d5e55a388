import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { canonicalJson, hasRoundedNumber } from '../../src/domain/common/canonical-json.ts';
import { payloadText } from '../../src/domain/webhooks/event-payload.ts';
import { entrySpans, fieldSpan } from '../../src/domain/common/json-spans.ts';
import { holds } from './property.ts';

type Chance = { next(): number };

/** A JSON value whose numbers are all represented exactly. */
const json = fc
  .jsonValue({ stringUnit: 'binary', maxDepth: 4 })
  .filter((value) => canonicalJson(value) !== null);
/** A random stream that decides how a value is written. */
const chance = fc
  .infiniteStream(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }))
  .map((stream): Chance => ({ next: () => stream.next().value as number }));

describe('the canonical text of a JSON value', () => {
  it('is independent of member order, white space, escapes and number notation', () => {
    holds([json, chance], (value, how) => {
      const written = write(value, how);
      assert.equal(canonicalJson(JSON.parse(written)), canonicalJson(value), written);
    });
  });

  it('parses to the same value', () => {
    holds([json], (value) => {
      const text = canonicalJson(value) ?? '';
      assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
      assert.equal(canonicalJson(JSON.parse(text)), text);
    });
  });

  it('is equal for two values only if they are equal', () => {
    holds([json, json], (one, other) => {
      const same = isSame(JSON.parse(JSON.stringify(one)), JSON.parse(JSON.stringify(other)));
      assert.equal(canonicalJson(one) === canonicalJson(other), same);
    });
  });

  it('is null if a number is not represented exactly', () => {
    holds([fc.bigInt({ min: 2n ** 53n, max: 2n ** 200n })], (large) => {
      assert.equal(canonicalJson(JSON.parse(`{"a":[${large}]}`)), null);
    });
  });
});

describe('a number that JavaScript rounds', () => {
  const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
  /** With more significant digits than any number of JavaScript. */
  const odd = fc.bigInt({ min: 2n ** 63n, max: 2n ** 90n }).map((half) => half * 2n + 1n);

  it('is found wherever it is, also as a decimal or with an exponent', () => {
    holds([json, odd, fc.nat(30)], (value, digits, places) => {
      const shifted = `0.${String(digits).padStart(places + 20, '0')}`;
      for (const number of [`${digits}`, `-${digits}`, shifted, `${digits}e-${places}`, '1e999', '1e-999'])
        assert.ok(hasRoundedNumber(`{"a": ${JSON.stringify(value)}, "b": [${number}]}`), number);
    });
  });

  it('is not found among numbers that stay the same in any notation, nor in strings', () => {
    holds([finite, odd], (number, digits) => {
      for (const text of [String(number), number.toExponential(), JSON.stringify(number)])
        assert.ok(!hasRoundedNumber(`[${text}, "${digits}", "\\"${digits}"]`), text);
      assert.ok(!hasRoundedNumber(JSON.stringify({ [`${digits}`]: `\\${digits}` })));
    });
  });

  it('is assumed in a text with more than 1,000 long numbers', () => {
    const longNumbers = (count: number) =>
      JSON.stringify(Array.from({ length: count }, () => 1_234_567.890_123_4));
    const exact = (count: number) => longNumbers(count).replaceAll('1234567.8901234', '1234567.89012340');
    assert.ok(!hasRoundedNumber(exact(1_000)));
    assert.ok(hasRoundedNumber(exact(1_001)));
    assert.ok(!hasRoundedNumber(longNumbers(50_000)), 'shorter ones are exact');
  });
});

describe('the data of an event, in any JSON notation', () => {
  const object = fc.dictionary(fc.string({ unit: 'binary' }), json, { maxKeys: 5 });
  const parts = {
    id: 'evt_1',
    event: 'issue.created',
    timestamp: '2026-01-01T00:00:00.000Z',
    workspace: { id: 'w', name: 'W "1"' },
  } as const;

  it('is copied from the request into the payload byte by byte', () => {
    holds([object, object, chance], (data, around, how) => {
      const written = write(data, how);
      const others = Object.entries(around).filter(([name]) => name !== 'data');
      const members = others.map(([name, value]) => `${write(name, how)}:${write(value, how)}`);
      members.splice(Math.floor(how.next() * (members.length + 1)), 0, `${write('data', how)}:${written}`);
      const request = `{${members.join(`,${space(how)}`)}}`;
      const span = fieldSpan(request, 'data');
      const cut = span && request.slice(span.start, span.end);
      assert.equal(cut, written);
      const payload = payloadText({ ...parts, data: written });
      assert.ok(Buffer.from(payload).includes(Buffer.from(`"data":${written}}`)));
      assert.deepEqual(JSON.parse(payload).data, JSON.parse(written));
      assert.deepEqual(Object.keys(JSON.parse(payload)), ['id', 'event', 'timestamp', 'workspace', 'data']);
    });
  });

  it('is found in each entry of an array', () => {
    holds([fc.array(json, { maxLength: 6 }), chance], (entries, how) => {
      const written = entries.map((entry) => write(entry, how));
      const text = `${space(how)}[${space(how)}${written.join(`${space(how)},${space(how)}`)}${space(how)}]`;
      const found = entrySpans(text).map(({ start, end }) => text.slice(start, end));
      assert.deepEqual(found, written);
    });
  });
});

/** Returns the value as JSON in a random notation, without surrounding white space. */
function write(value: unknown, how: Chance): string {
  if (typeof value === 'string') return writeText(value, how);
  if (typeof value === 'number') return writeNumber(value, how);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const around = () => space(how);
  if (Array.isArray(value)) {
    return `[${around()}${value.map((entry) => write(entry, how)).join(`${around()},${around()}`)}${around()}]`;
  }
  const members = Object.entries(value)
    .map((entry) => ({ entry, place: how.next() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ entry: [name, inner] }) => `${writeText(name, how)}${around()}:${around()}${write(inner, how)}`);
  return `{${around()}${members.join(`${around()},${around()}`)}${around()}}`;
}

function writeText(text: string, how: Chance): string {
  const units = text.split('').map((unit) => {
    if (how.next() < 0.3) return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
    return unit === '/' && how.next() < 0.5 ? '\\/' : JSON.stringify(unit).slice(1, -1);
  });
  // Two unescaped halves of a surrogate pair form one character.
  return `"${units.join('').toWellFormed() === units.join('') ? units.join('') : JSON.stringify(text).slice(1, -1)}"`;
}

function writeNumber(value: number, how: Chance): string {
  const plain = JSON.stringify(value);
  const way = how.next();
  if (way < 0.3) return value.toExponential();
  if (way < 0.6 && /^-?\d+$/.test(plain)) return `${plain}.0`;
  return plain;
}

function space(how: Chance): string {
  return how.next() < 0.6 ? '' : ([' ', '\n', '\t', '\r\n  '][Math.floor(how.next() * 4)] ?? '');
}

/** Returns whether two parsed values are equal; 0 equals -0. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === null || other === null || typeof one !== 'object' || typeof other !== 'object')
    return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every(
      (name) =>
        Object.hasOwn(other, name) &&
        isSame((one as Record<string, unknown>)[name], (other as Record<string, unknown>)[name]),
    )
  );
}
