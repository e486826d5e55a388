import assert from 'node:assert/strict';
import { entrySpans, fieldSpan, orderedJson, type Span } from '../../src/domain/common/json-spans.ts';
import { seededNumbers } from '../support/random.ts';

const cut = (text: string, span: Span | null) => (span === null ? null : text.slice(span.start, span.end));

describe('the span of a member in any JSON text', () => {
  const member = (text: string) => cut(text, fieldSpan(text, 'data'));

  it('contains the value that JSON.parse returns, for 1,000 random texts', () => {
    const random = seededNumbers(20_260_304);
    for (let round = 0; round < 1_000; round += 1) {
      const text = randomObject(random, 0);
      const value = JSON.parse(text) as Record<string, unknown>;
      for (const name of NAMES) {
        const span = fieldSpan(text, name);
        assert.equal(span !== null, Object.hasOwn(value, name), text);
        if (span) assert.deepEqual(JSON.parse(cut(text, span) ?? ''), value[name], text);
      }
      const list = `[${Array.from({ length: random(4) }, () => randomValue(random, 1)).join(',')}]`;
      const entries = entrySpans(list).map((span) => JSON.parse(cut(list, span) ?? ''));
      assert.deepEqual(entries, JSON.parse(list), list);
    }
  });

  it('is found after three million other members', () => {
    const others = '"id":"1",'.repeat(3_000_000);
    assert.equal(member(`{${others}"data":{"a":1}}`), '{"a":1}');
  });

  it('can contain 200,000 nested brackets', () => {
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    assert.equal(member(`{"x":${deep},"data":${deep}}`), deep);
  });
});

describe('a JSON text without white space', () => {
  it('is what JSON.stringify writes, in a thousand random texts', () => {
    const random = seededNumbers(20_260_305);
    for (let round = 0; round < 1_000; round += 1) {
      const text = randomObject(random, 0);
      assert.equal(orderedJson(text), JSON.stringify(JSON.parse(text)), text);
    }
  });
});

type Random = (below: number) => number;
// No name begins with a backslash: JSON.parse of V8 14 can confuse an escaped name with such a name.
const NAMES = ['data', 'events', 'id', '', 'x"y', 'b\\', 'é'];
const SPACES = ['', '', '', ' ', '\n\t ', '\r\n'];

function pick<T>(random: Random, from: readonly T[]): T {
  return from[random(from.length)] as T;
}

function randomString(random: Random): string {
  const pieces = Array.from({ length: random(4) }, () =>
    pick(random, ['a', '{', '}', '[', ']', ',', ':', '\\"', '\\\\', '\\u0022', '\\n', 'é', '😀', '\\ud800']),
  );
  return `"${pieces.join('')}"`;
}

/** Returns a name as a JSON string, sometimes with all characters escaped. */
function randomName(random: Random): string {
  const name = pick(random, NAMES);
  if (random(3) > 0) return JSON.stringify(name);
  return `"${Array.from(name, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"`;
}

function randomObject(random: Random, depth: number): string {
  const space = () => pick(random, SPACES);
  const members = Array.from(
    { length: random(5) },
    () => `${space()}${randomName(random)}${space()}:${randomValue(random, depth + 1)}`,
  );
  return `${space()}{${members.join(',') || space()}}${space()}`;
}

function randomValue(random: Random, depth: number): string {
  const space = () => pick(random, SPACES);
  const kind = random(depth > 3 ? 3 : 5);
  if (kind === 0) return `${space()}${randomString(random)}${space()}`;
  if (kind === 1) return `${space()}${pick(random, ['0', '-1.50', '1e3', '12345678901234567890'])}${space()}`;
  if (kind === 2) return `${space()}${pick(random, ['true', 'false', 'null'])}${space()}`;
  if (kind === 3) return randomObject(random, depth);
  const entries = Array.from({ length: random(4) }, () => randomValue(random, depth + 1));
  return `${space()}[${entries.join(',') || space()}]${space()}`;
}
