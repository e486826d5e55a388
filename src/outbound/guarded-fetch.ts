import { isIP, type Socket } from 'node:net';
import { createSecureContext, getCACertificates } from 'node:tls';
import { Agent, type buildConnector, fetch as fetchWith } from 'undici';
import type { AddressGuard } from './address-guard.ts';
import { openConnection, type Route } from './connect.ts';
import { OutboundFailure } from './failure.ts';
import { firstToOpen } from './first-to-open.ts';
import { createLookup } from './names.ts';
import { allowedAddresses, type Lookup } from './resolve.ts';

/** From the name look-up to the end of the TLS handshake, in milliseconds. */
const CONNECT_MS = 15_000;
/** The longest answer, streams included, in bytes. */
const MAX_RESPONSE_BYTES = 33_554_432;

export type GuardedFetchOptions = {
  guard: AddressGuard;
  /** Certificates in PEM that are trusted beside the usual ones. */
  ca?: string;
  /** An egress proxy, `http://[user:password@]host:port`. */
  proxy?: string;
  lookup?: Lookup;
};

/** `fetch` for libraries that speak HTTP by themselves. */
export type GuardedFetch = { fetch: typeof globalThis.fetch; close(): Promise<void> };

/**
 * A `fetch` on whose every connection the address that a name leads to is judged first, and then connected to. It
 * follows no redirect; how long an exchange may take is the caller's `signal`. What the guard or the network refuses
 * is thrown as an OutboundFailure. Throws when `ca` or `proxy` can't be read.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const { guard, ca, lookup = createLookup() } = options;
  const route: Route = {
    secureContext: createSecureContext(ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] }),
    proxy: options.proxy === undefined ? null : new URL(options.proxy),
  };
  const connect: buildConnector.connector = (wanted, callback) => {
    const hostname = wanted.hostname.replace(/^\[(.*)\]$/, '$1');
    const secure = wanted.protocol === 'https:';
    const target = { hostname, port: Number(wanted.port || (secure ? 443 : 80)), secure };
    void passSocket(open(target), callback);
  };
  async function open(target: { hostname: string; port: number; secure: boolean }): Promise<Socket> {
    const signal = AbortSignal.timeout(CONNECT_MS);
    const addresses = await allowedAddresses(target.hostname, lookup, guard);
    const opened = await firstToOpen(
      addresses,
      (address, either) => openConnection(target, address, route, either),
      ({ socket }) => socket.destroy(),
      signal,
    );
    return opened.socket;
  }
  const dispatcher = new Agent({
    connect,
    headersTimeout: 0,
    bodyTimeout: 0,
    maxResponseSize: MAX_RESPONSE_BYTES,
  });
  const guarded = async (input: string | URL, init: RequestInit = {}) => {
    checkAddress(new URL(input), guard);
    try {
      return await fetchWith(input, { ...(init as object), redirect: 'error', dispatcher });
    } catch (error) {
      throw error instanceof Error && error.cause instanceof OutboundFailure ? error.cause : error;
    }
  };
  return { fetch: guarded as unknown as typeof globalThis.fetch, close: () => dispatcher.destroy() };
}

/** undici speaks of a connection by a callback. */
async function passSocket(opening: Promise<Socket>, callback: buildConnector.Callback): Promise<void> {
  let socket: Socket;
  try {
    socket = await opening;
  } catch (error) {
    return callback(error as Error, null);
  }
  callback(null, socket);
}

/** What can be said at once, also where a connection is still open from before. */
function checkAddress({ protocol, hostname }: URL, guard: AddressGuard): void {
  if (protocol !== 'https:' && protocol !== 'http:') {
    throw new OutboundFailure('invalid_request', 'The address is not an http or https URL');
  }
  const literal = hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(literal) === 0) return;
  const judgement = guard.judge(literal);
  if (!judgement.allowed) {
    throw new OutboundFailure('address_refused', `Address not allowed: ${judgement.reason}`);
  }
}
