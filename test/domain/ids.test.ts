import assert from 'node:assert/strict';
import { mock } from 'node:test';
import {
  derivedUuid,
  lowestIdAt,
  lowestIdSince,
  NIL,
  nextUuid,
  orderedUuid,
  stepIdsOf,
} from '../../src/database/common/ids.ts';
import { UUID } from '../../src/domain/common/text.ts';

const AT = new Date('2026-01-31T11:59:00.000Z');
const VERSION_7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('a derived id', () => {
  it('has the given time and 74 bits of the hash of the text', () => {
    // printf 'a' | sha256sum: ca9 7 811 2ca1bbdcafac …
    assert.equal(derivedUuid(AT, 'a'), '019c13eb-b3a0-7ca9-b811-2ca1bbdcafac');
  });

  it('has the time of another id', () => {
    const parent = '019c13eb-b3a0-7000-8000-000000000000';
    assert.equal(derivedUuid(parent, 'a'), derivedUuid(AT, 'a'));
  });

  it('has a time before 2004 with leading zeros', () => {
    assert.match(derivedUuid(new Date(1), 'a'), /^00000000-0001-7/);
  });

  it('is a UUID of version 7 for every text', () => {
    const ids = Array.from({ length: 200 }, (_, n) => derivedUuid(AT, `text ${n}`));
    for (const id of ids) assert.match(id, VERSION_7);
    assert.equal(new Set(ids).size, 200);
    assert.equal(new Set(ids.map((id) => id.charAt(19))).size, 4, 'the variant leaves two bits');
  });
});

describe('a new id', () => {
  afterEach(() => mock.restoreAll());

  it('sorts after the one before, in the same millisecond and after the clock was set back', () => {
    let now = Date.now() + 1_000;
    mock.method(Date, 'now', () => now);
    const made = [nextUuid(), nextUuid(), nextUuid()];
    now -= 500;
    made.push(nextUuid());
    now += 501;
    made.push(nextUuid(), nextUuid());
    assert.deepEqual(made.toSorted(), made);
    for (const id of made) assert.match(id, VERSION_7);
    const times = made.map((id) => Number.parseInt(id.replace('-', '').slice(0, 12), 16) - now);
    assert.deepEqual(times, [-1, -1, -1, -1, 0, 0]);
    assert.match(made[4] ?? '', /^.{14}7000-8000-/);
  });

  it('differs from those of other processes with the same time and position', () => {
    const ends = Array.from({ length: 100 }, () => nextUuid().slice(-12));
    assert.equal(new Set(ends).size, 100);
  });
});

describe('an ordered id', () => {
  it('contains its position, and the text distinguishes ids of the same position', () => {
    assert.match(orderedUuid(AT, 0x123456, 'a'), /^019c13eb-b3a0-7123-8456-ca978112ca1b$/);
    assert.match(orderedUuid(AT, 7, 'a'), /^019c13eb-b3a0-7000-8007-/);
    assert.notEqual(orderedUuid(AT, 7, 'a'), orderedUuid(AT, 7, 'b'));
  });

  it('sorts by position within a millisecond, up to 2^24 positions', () => {
    const ids = [0, 1, 0xfff, 0x1000, 0xffffff].map((position) => orderedUuid(AT, position, `${position}`));
    assert.deepEqual(ids.toSorted(), ids);
    assert.equal(orderedUuid(AT, 2 ** 24, 'a'), orderedUuid(AT, 0, 'a'));
  });

  it('is after the lowest id of its millisecond and before that of the next', () => {
    const ids = [
      NIL,
      lowestIdAt(AT),
      orderedUuid(AT, 0, 'a'),
      derivedUuid(AT, 'a'),
      lowestIdAt(new Date(AT.getTime() + 1)),
    ];
    assert.deepEqual(ids.toSorted(), ids);
    for (const id of ids) assert.match(id, UUID);
    assert.equal(lowestIdAt(AT), '019c13eb-b3a0-0000-0000-000000000000');
  });

  it('can be before the creation of its row by the given time, but not before 1970', () => {
    assert.equal(lowestIdSince(AT, 0x3a0), '019c13eb-b000-0000-0000-000000000000');
    assert.equal(lowestIdSince(new Date(5), 6), NIL);
  });
});

describe('the ids of the steps of a run', () => {
  it('are the same for the same run and number, and otherwise differ', () => {
    const run = '019c13eb-b3a0-7000-8000-000000000001';
    const take = (of: string) => {
      const next = stepIdsOf(of);
      return [next(), next(), next()];
    };
    assert.deepEqual(take(run), take(run));
    assert.deepEqual(take(run)[0], derivedUuid(run, `${run}:step:1`));
    const other = '019c13eb-b3a0-7000-8000-000000000002';
    assert.equal(new Set([...take(run), ...take(other)]).size, 6);
  });
});
