import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { createAddressGuard } from '../../src/outbound/address-guard.ts';
import { SPECIAL_IPV4, SPECIAL_IPV6 } from '../../src/outbound/special-addresses.ts';
import { holds } from './property.ts';

/** An IP address as a number. */
type Bits = { value: bigint; width: 32 | 128 };

const GUARD = createAddressGuard([]);
const v4 = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }),
  nearEdges(SPECIAL_IPV4.map(([range]) => range)),
);
const v6 = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }),
  fc.bigInt({ min: 0x2000n << 112n, max: (0x4000n << 112n) - 1n }),
  nearEdges(SPECIAL_IPV6.map(([range]) => range)),
);

describe('the address guard, for random addresses', () => {
  it('refuses IPv4 addresses in special ranges, and allows all others', () => {
    holds(
      [v4],
      (value) => {
        assert.equal(GUARD.judge(dotted(value)).allowed, !isSpecial4(value), dotted(value));
      },
      5_000,
    );
  });

  it('judges IPv6 addresses with an embedded IPv4 address by the latter, in every notation', () => {
    const carrier = fc.constantFrom(
      (value: bigint) => (0xffffn << 32n) | value,
      (value: bigint) => (0x64ff9bn << 96n) | value,
      (value: bigint) => (0x2002n << 112n) | (value << 80n) | 1n,
    );
    holds(
      [v4, carrier, fc.boolean()],
      (value, carried, upper) => {
        for (const literal of spellings(carried(value))) {
          const written = upper ? literal.toUpperCase() : literal;
          assert.equal(GUARD.judge(written).allowed, !isSpecial4(value), `${written} (${dotted(value)})`);
        }
      },
      2_000,
    );
  });

  it('judges all other IPv6 addresses by the IPv6 ranges, in every notation', () => {
    holds(
      [v6],
      (value) => {
        if (carriedIn(value) !== null) return;
        for (const literal of spellings(value)) {
          assert.equal(GUARD.judge(literal).allowed, !isSpecial6(value), literal);
        }
      },
      3_000,
    );
  });

  it('additionally allows exactly the configured ranges', () => {
    const range = fc.record({
      value: fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }),
      bits: fc.integer({ min: 1, max: 32 }),
    });
    holds(
      [range, v4],
      ({ value, bits }, asked) => {
        const guard = createAddressGuard([`${dotted(value)}/${bits}`]);
        const shift = BigInt(32 - bits);
        const isOpen = value >> shift === asked >> shift;
        assert.equal(guard.judge(dotted(asked)).allowed, isOpen || !isSpecial4(asked));
      },
      1_000,
    );
  });

  it('refuses text that is not an address', () => {
    const invalid = fc.oneof(
      fc.string(),
      fc.domain(),
      v4.map((value) => String(value)),
      v4.map((value) => `0x${value.toString(16)}`),
      v4.map((value) => `${dotted(value)}.`),
      v4.map((value) => dotted(value).replace(/\d+/, (octet) => `0${octet}`)),
    );
    holds(
      [invalid],
      (text) => {
        const bare = text.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '');
        if (/^(\d{1,3}\.){3}\d{1,3}$/.test(bare) && !/(^|\.)0\d/.test(bare)) return;
        if (bare.includes(':')) return;
        assert.equal(GUARD.judge(text).allowed, false, text);
      },
      2_000,
    );
  });
});

/** Returns the first and last address of each range and their neighbours. */
function nearEdges(ranges: readonly string[]): fc.Arbitrary<bigint> {
  const edges = ranges.flatMap((range) => {
    const { first, last, width } = boundsOf(range);
    return [first - 1n, first, last, last + 1n].map((edge) => BigInt.asUintN(width, edge));
  });
  return fc.constantFrom(...edges);
}

function isSpecial4(value: bigint): boolean {
  return isWithin({ value, width: 32 }, SPECIAL_IPV4);
}

function isSpecial6(value: bigint): boolean {
  return isWithin({ value, width: 128 }, SPECIAL_IPV6);
}

function isWithin({ value }: Bits, ranges: readonly (readonly [string, string])[]): boolean {
  return ranges.some(([range]) => {
    const { first, last } = boundsOf(range);
    return first <= value && value <= last;
  });
}

/** Calculates the bounds of a range independently of the guard. */
function boundsOf(range: string): { first: bigint; last: bigint; width: 32 | 128 } {
  const [literal = '', bits = ''] = range.split('/');
  const { value, width } = numberOf(literal);
  const size = 1n << BigInt(width - Number(bits));
  const first = (value / size) * size;
  return { first, last: first + size - 1n, width };
}

function numberOf(literal: string): Bits {
  if (!literal.includes(':')) {
    const value = literal.split('.').reduce((sum, octet) => sum * 256n + BigInt(octet), 0n);
    return { value, width: 32 };
  }
  const [head = '', tail = ''] = literal.split('::');
  const groups = (text: string) => text.split(':').filter((group) => group !== '');
  const [first, last] = [groups(head), groups(tail)];
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0');
  const value = [...first, ...zeros, ...last].reduce(
    (sum, group) => sum * 65_536n + BigInt(`0x${group}`),
    0n,
  );
  return { value, width: 128 };
}

function carriedIn(value: bigint): bigint | null {
  if (value >> 32n === 0xffffn || value >> 32n === 0x64ff9bn << 64n) return value & 0xffff_ffffn;
  return value >> 112n === 0x2002n ? (value >> 80n) & 0xffff_ffffn : null;
}

function dotted(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.');
}

/** Returns notations of an IPv6 address: full, shortest, in brackets, with a decimal end, with a zone. */
function spellings(value: bigint): string[] {
  const groups = Array.from({ length: 8 }, (_, index) => (value >> BigInt(112 - 16 * index)) & 0xffffn);
  const whole = groups.map((group) => group.toString(16).padStart(4, '0')).join(':');
  const short = new URL(`http://[${whole}]/`).hostname;
  const decimals = `${groups
    .slice(0, 6)
    .map((group) => group.toString(16))
    .join(':')}:${dotted(value & 0xffff_ffffn)}`;
  return [whole, short, short.slice(1, -1), decimals, `${whole}%eth0`];
}
