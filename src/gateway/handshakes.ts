import type { IncomingMessage } from 'node:http';
import { tokenOf } from './admission.ts';
import { createPlaces } from './places.ts';

/** Maximum number of connections that have not authenticated, for one address and for this process. */
export type HandshakeLimits = { perAddress: number; overall: number };

type Dependencies = {
  limits: HandshakeLimits;
  /** Returns the address of the client, behind trusted proxies the forwarded one. */
  addressOf(request: IncomingMessage): string;
  /** Returns whether the service or the identity provider signed the token, and it has not expired. */
  isSigned(token: string): Promise<boolean>;
};

/**
 * Begins the handshake of a connection. Returns the function that ends it, or null if too many connections of the address
 * or of the process have not authenticated yet.
 */
export type BeginHandshake = (request: IncomingMessage) => Promise<(() => void) | null>;

/**
 * Creates the limit of unauthenticated connections. Beyond it, a request with a signed token still begins: strangers at the
 * same address cannot lock out users with a token, and have none themselves.
 */
export function limitHandshakes({ limits, addressOf, isSigned }: Dependencies): BeginHandshake {
  const places = createPlaces(limits.overall);
  return async (request) => {
    const release = places.take({ [addressOf(request)]: limits.perAddress });
    if (release) return release;
    const token = tokenOf(request);
    return token !== null && (await isSigned(token)) ? () => {} : null;
  };
}
