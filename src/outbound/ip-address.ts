import { isIPv4, isIPv6 } from 'node:net';

/** An IP address: its text as sockets take it, and for IPv6 its 16 bytes. */
export type IpAddress =
  | { family: 'ipv4'; text: string }
  | { family: 'ipv6'; text: string; bytes: Uint8Array };

/** Parses a literal address, with optional brackets and zone (`%eth0`); null if it is not an address. */
export function parseAddress(literal: string): IpAddress | null {
  const text = literal.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '');
  if (isIPv4(text)) return { family: 'ipv4', text };
  if (isIPv6(text)) return { family: 'ipv6', text, bytes: bytesOfIPv6(text) };
  return null;
}

/**
 * Returns the IPv4 address that an IPv6 address maps to, or null: IPv4-mapped (RFC 4291), the well-known NAT64 prefix
 * (RFC 6052) and 6to4 (RFC 3056).
 */
export function embeddedIPv4(bytes: Uint8Array): string | null {
  const hex = Buffer.from(bytes).toString('hex');
  if (hex.startsWith('00000000000000000000ffff')) return dotted(bytes, 12);
  if (hex.startsWith('0064ff9b0000000000000000')) return dotted(bytes, 12);
  if (hex.startsWith('2002')) return dotted(bytes, 2);
  return null;
}

function dotted(bytes: Uint8Array, at: number): string {
  return bytes.subarray(at, at + 4).join('.');
}

/** `text` must be a valid IPv6 address without zone. */
function bytesOfIPv6(text: string): Uint8Array {
  const [head = '', tail] = text.split('::');
  const first = groups(head);
  const last = tail === undefined ? [] : groups(tail);
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => 0);
  const words = [...first, ...zeros, ...last];
  return Uint8Array.from(words.flatMap((word) => [word >> 8, word & 0xff]));
}

function groups(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}
