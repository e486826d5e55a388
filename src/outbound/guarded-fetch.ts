import { isIP, type Socket } from 'node:net';
import { createSecureContext, getCACertificates } from 'node:tls';
import { Agent, type buildConnector, fetch as fetchWith } from 'undici';
import { MAX_RESPONSE_BYTES } from '../domain/common/limits.ts';
import type { AddressGuard } from './address-guard.ts';
import { openConnection, type Route } from './connect.ts';
import { OutboundFailure } from './failure.ts';
import { firstToOpen } from './first-to-open.ts';
import { limitedResponse } from './limited-fetch.ts';
import { createLookup } from './names.ts';
import { allowedAddresses, type Lookup } from './resolve.ts';

/** Time limit from the DNS lookup to the end of the TLS handshake, in milliseconds. */
const CONNECT_MS = 15_000;

export type GuardedFetchOptions = {
  guard: AddressGuard;
  /** Certificates in PEM that are trusted in addition to the system's. */
  ca?: string;
  /** An egress proxy, `http://[user:password@]host:port`. */
  proxy?: string;
  lookup?: Lookup;
};

/** A `fetch` for libraries that make their own HTTP requests. */
export type GuardedFetch = { fetch: typeof globalThis.fetch; close(): Promise<void> };

/**
 * Creates a `fetch` that checks the resolved address of each connection before it connects. It follows no redirects.
 * The caller limits the duration with its `signal`. Rejections by the guard and network failures are thrown as
 * OutboundFailure. Throws if `ca` or `proxy` cannot be read.
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
      return limitedResponse(await fetchWith(input, { ...(init as object), redirect: 'error', dispatcher }));
    } catch (error) {
      throw error instanceof Error && error.cause instanceof OutboundFailure ? error.cause : error;
    }
  };
  return { fetch: guarded as unknown as typeof globalThis.fetch, close: () => dispatcher.destroy() };
}

/** Passes the socket to the callback of undici. */
async function passSocket(opening: Promise<Socket>, callback: buildConnector.Callback): Promise<void> {
  let socket: Socket;
  try {
    socket = await opening;
  } catch (error) {
    return callback(error as Error, null);
  }
  callback(null, socket);
}

/** Checks the URL itself, which also covers requests on connections that are already open. */
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
