import type { IncomingMessage } from 'node:http';
import type { Context, Next } from 'koa';
import { remembering } from '../../domain/common/remembering.ts';
import type { AddressSet } from '../../outbound/address-guard.ts';
import { parseAddress } from '../../outbound/ip-address.ts';

/** Returns a middleware that sets `context.ip` to the address of the client, see {@link clientAddress}. */
export function clientAddresses(trustedProxies: AddressSet) {
  const trusted = { has: remembering((address) => trustedProxies.has(address)) };
  return (context: Context, next: Next): Promise<void> => {
    context.request.ip = addressOfRequest(context.req, trusted);
    return next();
  };
}

/** Returns the address of the client of a request, see {@link clientAddress}. */
export function addressOfRequest({ socket, headers }: IncomingMessage, trusted: AddressSet): string {
  const forwardedFor = [headers['x-forwarded-for'] ?? ''].flat().join(',');
  return clientAddress(socket.remoteAddress ?? '', forwardedFor, trusted);
}

/**
 * Returns the address of a client: that of the connection, or behind trusted proxies the last one in `X-Forwarded-For`
 * that is not theirs. Each proxy adds the address that it saw. Everything before that could be invented.
 */
export function clientAddress(remote: string, forwardedFor: string, trusted: AddressSet): string {
  let client = addressOfConnection(remote);
  for (const hop of forwardedFor.split(',').toReversed()) {
    const address = trusted.has(client) ? plainAddress(hop.trim()) : null;
    if (address === null) break;
    client = address;
  }
  return client;
}

/**
 * Returns what limits count an address as: an IPv4 address as itself, an IPv6 address as its network of 64 bits, since one
 * customer of a provider has at least that many addresses.
 */
export function networkOf(address: string): string {
  const parsed = parseAddress(address);
  if (parsed?.family !== 'ipv6') return address;
  return `${Buffer.from(parsed.bytes.subarray(0, 8)).toString('hex')}/64`;
}

const addressOfConnection = remembering((remote) => plainAddress(remote) ?? remote);

/** Returns an address as text, without the port that some proxies add; null if it is none. */
function plainAddress(text: string): string | null {
  const [, inBrackets] = /^\[([^\]]+)\](?::\d+)?$/.exec(text) ?? [];
  const literal =
    inBrackets ?? text.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1').replace(/^::ffff:(?=\d+\.)/i, '');
  return parseAddress(literal)?.text ?? null;
}
