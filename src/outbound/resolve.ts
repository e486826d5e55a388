import { isIP } from 'node:net';
import type { AddressGuard } from './address-guard.ts';
import { lookupFailure, OutboundFailure } from './failure.ts';

/** All addresses of a name, in the order to try them. */
export type Lookup = (hostname: string) => Promise<readonly string[]>;

/**
 * Lets attempts that ask for the same name at the same time share one look-up. Nothing is kept once it is answered.
 */
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
 * The addresses of a host that may be connected to: a literal address itself, else what the look-up says, without
 * those that the guard refuses. Throws OutboundFailure `lookup_failed` or `address_refused`.
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
  throw new OutboundFailure('address_refused', `Address not allowed: ${refusal.reason}`);
}

async function ask(lookup: Lookup, hostname: string): Promise<readonly string[]> {
  try {
    return await lookup(hostname);
  } catch (error) {
    throw lookupFailure(error);
  }
}
