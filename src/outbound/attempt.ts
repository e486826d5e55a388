import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import type { AttemptTimings } from '../domain/webhooks/delivery.ts';
import { remembering } from '../domain/common/remembering.ts';
import type { AddressGuard } from './address-guard.ts';
import { type AttemptRecord, type AttemptRequest, spelledHeaders } from './attempt-record.ts';
import { openConnection, type Route, type Target } from './connect.ts';
import {
  type Connection,
  connectionOn,
  createIdleConnections,
  discard,
  type IdleConnections,
} from './connection.ts';
import { type Exchange, exchange } from './exchange.ts';
import { OutboundFailure, statusFailure } from './failure.ts';
import { firstToOpen } from './first-to-open.ts';
import { createLookup } from './names.ts';
import { allowedAddresses, type Lookup, shareLookups } from './resolve.ts';
import { createTimeLimit, orAborted, type Stage } from './time-limit.ts';

export type OutboundClientOptions = {
  guard: AddressGuard;
  /** Certificates in PEM that are trusted in addition to the system's. */
  ca?: string;
  /** An egress proxy, `http://[user:password@]host:port`. HTTPS_PROXY is ignored. */
  proxy?: string;
  /** Milliseconds since 1970, for `started_at`. */
  clock?: () => number;
  /** Resolves names; default: {@link createLookup}. */
  lookup?: Lookup;
};

/** The client that sends all callbacks and webhooks. */
export type OutboundClient = {
  /**
   * Sends one POST and returns its result. Never rejects: all failures are in the record. If the receiver closes a
   * reused connection without any byte of a response, the request is sent again, once, on a new connection and within
   * the same time limit; `timings.reconnected` is then true.
   */
  attempt(request: AttemptRequest): Promise<AttemptRecord>;
  /** Closes idle connections. Running attempts are ended by their own signals. */
  close(): Promise<void>;
};

type Dependencies = {
  guard: AddressGuard;
  lookup: Lookup;
  route: Route;
  idle: IdleConnections;
  clock: () => number;
};

/** Creates a client. Throws if `ca` or `proxy` cannot be read. */
export function createOutboundClient(options: OutboundClientOptions): OutboundClient {
  const deps: Dependencies = {
    guard: { judge: remembering((address) => options.guard.judge(address)) },
    lookup: shareLookups(options.lookup ?? createLookup()),
    route: { secureContext: createTrust(options.ca), proxy: proxyUrl(options.proxy) },
    idle: createIdleConnections(),
    clock: options.clock ?? Date.now,
  };
  return {
    attempt: (request) => attempt(request, deps),
    close: async () => deps.idle.closeAll(),
  };
}

/** The state of an attempt, filled in stage by stage. */
type AttemptProgress = { address: string | null; stage: Stage; timings: Omit<AttemptTimings, 'total_ms'> };

async function attempt(request: AttemptRequest, deps: Dependencies): Promise<AttemptRecord> {
  const startedAt = new Date(deps.clock());
  const begun = performance.now();
  const progress: AttemptProgress = {
    address: null,
    stage: 'lookup',
    timings: { lookup_ms: null, connect_ms: null, tls_ms: null, first_byte_ms: null },
  };
  const limit = createTimeLimit(request, () => progress.stage);
  const done = await send(request, deps, progress, limit.signal).catch((error) =>
    failedExchange(limit.signal.aborted ? limit.signal.reason : error),
  );
  limit.release();
  return recordOf(done, progress, startedAt, performance.now() - begun);
}

/** Resolves the name, connects and exchanges. Throws failures that occur before the response. */
async function send(
  request: AttemptRequest,
  deps: Dependencies,
  progress: AttemptProgress,
  signal: AbortSignal,
): Promise<Exchange> {
  const { origin, path, target } = destinationOf(request.url);
  const begun = performance.now();
  const addresses = await orAborted(allowedAddresses(target.hostname, deps.lookup, deps.guard), signal);
  progress.timings.lookup_ms = tenths(performance.now() - begun);
  progress.stage = 'connection';
  const wanted = {
    path,
    headers: spelledHeaders(request.headers),
    body: request.body,
    maxResponseBytes: request.maxResponseBytes,
  };
  const exchangeOn = async (connection: Connection): Promise<Exchange> => {
    progress.address = connection.address;
    progress.stage = 'answer';
    const done = await exchange(connection, wanted, signal);
    progress.timings.first_byte_ms = done.firstByteMs === null ? null : tenths(done.firstByteMs);
    if (done.failure === null && done.response?.truncated === false) deps.idle.put(origin, connection);
    else discard(connection);
    return done;
  };
  const reused = deps.idle.take(origin, addresses);
  if (reused !== null) {
    const done = await exchangeOn(reused);
    if (!done.wasClosedUnanswered) return done;
    // The receiver has probably closed the idle connection while the request was in transit. It detects a repeat by its
    // id, so the request may be repeated (RFC 9110, 9.2.2; RFC 9112, 9.3.1).
    progress.timings.reconnected = true;
    progress.stage = 'connection';
  }
  return await exchangeOn(await connect(origin, target, addresses, deps, progress, signal));
}

async function connect(
  origin: string,
  target: Target,
  addresses: readonly string[],
  deps: Dependencies,
  progress: AttemptProgress,
  signal: AbortSignal,
): Promise<Connection> {
  const opened = await firstToOpen(
    addresses,
    (address, either) => {
      progress.address = address;
      return openConnection(target, address, deps.route, either);
    },
    ({ socket }) => socket.destroy(),
    signal,
  );
  progress.timings.connect_ms = tenths(opened.connectMs);
  progress.timings.tls_ms = opened.tlsMs === null ? null : tenths(opened.tlsMs);
  return connectionOn(opened, origin);
}

/** Throws OutboundFailure `invalid_request` for a URL that cannot receive a POST. */
function destination(text: string): { origin: string; path: string; target: Target } {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new OutboundFailure('invalid_request', 'The address is not an http or https URL');
  }
  if (url.username !== '' || url.password !== '') {
    throw new OutboundFailure('invalid_request', 'The address contains a user name or password');
  }
  const secure = url.protocol === 'https:';
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1');
  return {
    origin: url.origin,
    path: url.pathname + url.search,
    target: { hostname, port: Number(url.port || (secure ? 443 : 80)), secure },
  };
}

/** Requests go to the same URLs again and again. */
const destinationOf = remembering(destination);

function failedExchange(error: unknown): Exchange {
  const failure =
    error instanceof OutboundFailure ? error : new OutboundFailure('connection_failed', 'Connection failed');
  return { response: null, failure, firstByteMs: null, wasClosedUnanswered: false };
}

function recordOf(
  done: Exchange,
  { address, timings }: AttemptProgress,
  startedAt: Date,
  totalMs: number,
): AttemptRecord {
  const failure = done.failure ?? statusFailure(done.response?.status ?? 0);
  return {
    outcome: failure === null ? 'succeeded' : 'failed',
    failure: failure?.kind ?? null,
    message: failure?.message ?? null,
    address,
    response: done.response,
    timings: { ...timings, total_ms: tenths(totalMs) },
    started_at: startedAt,
    duration_ms: Math.round(totalMs),
  };
}

function createTrust(ca: string | undefined): SecureContext {
  return createSecureContext(ca === undefined ? {} : { ca: [...getCACertificates('default'), ca] });
}

function proxyUrl(proxy: string | undefined): URL | null {
  if (proxy === undefined || proxy === '') return null;
  const url = URL.parse(proxy);
  if (url?.protocol !== 'http:') throw new TypeError('The egress proxy is not an http:// URL');
  return url;
}

function tenths(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}
