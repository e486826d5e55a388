import { isIP } from 'node:net';
import type { AddressGuard } from './address-guard.ts';
import { lookupFailure, OutboundFailure } from './failure.ts';

/** Returns all addresses of a name, in the order to try them. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/** Shares one lookup among concurrent requests for the same name. Results are not cached. */
export function shareLookups(lookup: Lookup): Lookup {
  const inFlight = new Map<string, Promise<readonly string[]>>();
  return (hostname) => {
    const known = inFlight.get(hostname);
    if (known !== undefined) return known;
    const asked = lookup(hostname).finally(() => inFlight.delete(hostname));
    inFlight.set(hostname, asked);
    return asked;
  };
}

/**
 * Returns the allowed addresses of a host: a literal address itself, otherwise the resolved addresses that the guard
 * accepts. The message about a name does not contain its addresses. Throws OutboundFailure `lookup_failed` or `address_refused`.
 */
export async function allowedAddresses(
  hostname: string,
  lookup: Lookup,
  guard: AddressGuard,
): Promise<string[]> {
  const found = isIP(hostname) === 0 ? await ask(lookup, hostname) : [hostname];
  const judged = [...new Set(found)].map((address) => ({ address, judgement: guard.judge(address) }));
  const allowed = judged.filter(({ judgement }) => judgement.allowed).map(({ address }) => address);
  const refusal = judged.find(({ judgement }) => !judgement.allowed)?.judgement;
  if (allowed.length > 0) return allowed;
  if (refusal === undefined || refusal.allowed)
    throw new OutboundFailure('lookup_failed', 'The host name has no address');
  // Not everybody who can set a URL may learn the addresses of internal names.
  const why = isIP(hostname) === 0 ? `the name resolves to ${refusal.kind}` : refusal.reason;
  throw new OutboundFailure('address_refused', `Address not allowed: ${why}`);
}

async function ask(lookup: Lookup, hostname: string): Promise<readonly string[]> {
  try {
    return await lookup(hostname);
  } catch (error) {
    throw lookupFailure(error);
  }
}
