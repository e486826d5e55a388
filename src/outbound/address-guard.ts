import { BlockList } from 'node:net';
import { embeddedIPv4, parseAddress } from './ip-address.ts';
import { SPECIAL_IPV4, SPECIAL_IPV6 } from './special-addresses.ts';

/** `reason` names the address; `kind` says only what it is, for example "a private address". */
export type Judgement = { allowed: true } | { allowed: false; reason: string; kind: string };

/** Decides whether requests may be sent to an address. */
export type AddressGuard = {
  /** `address` is a literal IPv4 or IPv6 address; any other text is rejected. */
  judge(address: string): Judgement;
};

type Family = 'ipv4' | 'ipv6';
type NamedRange = { list: BlockList; reason: string };

const ALLOWED: Judgement = { allowed: true };
const SPECIAL: Readonly<Record<Family, readonly NamedRange[]>> = {
  ipv4: SPECIAL_IPV4.map(([range, reason]) => ({ list: listOf([range]), reason })),
  ipv6: SPECIAL_IPV6.map(([range, reason]) => ({ list: listOf([range]), reason })),
};
/** All ranges in one list, for speed: most addresses are in none. */
const ANY_SPECIAL: Readonly<Record<Family, BlockList>> = {
  ipv4: listOf(SPECIAL_IPV4.map(([range]) => range)),
  ipv6: listOf(SPECIAL_IPV6.map(([range]) => range)),
};

/**
 * Creates a guard that rejects all special-purpose addresses except those in `allow`: CIDR ranges such as
 * `127.0.0.0/8`, or single addresses. IPv6 addresses that map to an IPv4 address are checked as that one.
 * Throws a RangeError that names an invalid range.
 */
export function createAddressGuard(allow: readonly string[]): AddressGuard {
  const allowed = listOf(allow);
  const judgeFamily = (text: string, family: Family): Judgement => {
    if (!ANY_SPECIAL[family].check(text, family) || allowed.check(text, family)) return ALLOWED;
    const range = SPECIAL[family].find(({ list }) => list.check(text, family));
    const kind = range?.reason ?? 'a reserved address';
    return { allowed: false, reason: `${text} is ${kind}`, kind };
  };
  return {
    judge(address) {
      const parsed = parseAddress(address);
      if (parsed === null)
        return { allowed: false, reason: `${address} is not an IP address`, kind: 'not an IP address' };
      if (parsed.family === 'ipv4') return judgeFamily(parsed.text, 'ipv4');
      const embedded = embeddedIPv4(parsed.bytes);
      if (embedded === null) return judgeFamily(parsed.text, 'ipv6');
      const judgement = judgeFamily(embedded, 'ipv4');
      if (judgement.allowed) return judgement;
      const reason = `${parsed.text} maps to an IPv4 address, and ${judgement.reason}`;
      return { ...judgement, reason };
    },
  };
}

/**
 * Checks a URL's host without a DNS lookup, when a URL is configured: a literal address or `localhost` is checked,
 * any other name is allowed here and checked at each attempt (docs/webhooks.md).
 */
export function judgeUrlHost(url: URL, guard: AddressGuard): Judgement {
  const host = url.hostname.replace(/\.$/, '');
  if (host === 'localhost' || host.endsWith('.localhost')) {
    const ipv4 = guard.judge('127.0.0.1');
    return ipv4.allowed || guard.judge('::1').allowed
      ? ALLOWED
      : { allowed: false, reason: `${host} resolves to a loopback address`, kind: 'a loopback address' };
  }
  return parseAddress(host) === null ? ALLOWED : guard.judge(host);
}

/** A set of addresses. */
export type AddressSet = {
  /** `address` is a literal IPv4 or IPv6 address; any other text is not in the set. */
  has(address: string): boolean;
};

/**
 * Creates the set of the addresses in these CIDR ranges or single addresses.
 * @throws RangeError that names an invalid range
 */
export function createAddressSet(ranges: readonly string[]): AddressSet {
  const list = listOf(ranges);
  return {
    has(address) {
      const parsed = parseAddress(address);
      return parsed !== null && list.check(parsed.text, parsed.family);
    },
  };
}

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) addRange(list, range);
  return list;
}

function addRange(list: BlockList, range: string): void {
  const [literal = '', bits, ...rest] = range.trim().split('/');
  const address = parseAddress(literal);
  const longest = address?.family === 'ipv4' ? 32 : 128;
  const prefix = bits === undefined ? longest : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
  if (address === null || rest.length > 0 || !(prefix <= longest))
    throw new RangeError(`"${range}" is not a CIDR range`);
  list.addSubnet(address.text, prefix, address.family);
}
