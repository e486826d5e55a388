import type { AttemptTimings } from './delivery.ts';

/*
 * The short forms in which parts of an attempt are stored. Headers that every request has, and whose values are known from the
 * delivery and its event, are left out: they were a third of the row. Timings have no names.
 */

type Headers = Readonly<Record<string, string>>;

/** What the usual headers contain. `timestamp`: the time of the event; null if it was deleted. */
export type HeadersOf = { deliveryId: string; event: string; timestamp: Date | null };

/**
 * The member of stored headers without the usual ones: the signature in base64, or nothing. No header has such a name. Stored
 * rows depend on these headers, so they must not change: other ones need another name.
 */
const USUAL = ':usual';
const SIGNATURE = 'x-service-signature';
const SIGNATURE_FORM = /^sha256=([0-9a-f]{64})$/;

function usualHeaders({ deliveryId, event, timestamp }: HeadersOf): Headers {
  return {
    accept: '*/*',
    'accept-encoding': 'identity',
    'user-agent': 'Baton',
    'content-type': 'application/json',
    'x-service-event': event,
    'x-service-delivery': deliveryId,
    ...(timestamp && { 'x-service-timestamp': timestamp.toISOString() }),
  };
}

/** Returns headers as they are stored: without the usual ones, if all of these are among them. */
export function toStoredHeaders(headers: Headers, of: HeadersOf): Record<string, string> {
  const usual = usualHeaders(of);
  for (const name of Object.keys(usual)) if (headers[name] !== usual[name]) return { ...headers };
  const hex = SIGNATURE_FORM.exec(String(headers[SIGNATURE]))?.[1];
  const stored: Record<string, string> = {
    [USUAL]: hex === undefined ? '' : Buffer.from(hex, 'hex').toString('base64'),
  };
  const known = hex === undefined ? usual : { ...usual, [SIGNATURE]: hex };
  // Not by deleting the others: V8 would keep the object as a hash table.
  for (const [name, value] of Object.entries(headers)) if (!Object.hasOwn(known, name)) stored[name] = value;
  return stored;
}

/** Returns the headers of a request from what {@link toStoredHeaders} returned, or from complete ones. */
export function fromStoredHeaders(stored: Headers, of: HeadersOf): Record<string, string> {
  const { [USUAL]: base64, ...rest } = stored;
  if (base64 === undefined) return rest;
  const signature =
    base64 === '' ? {} : { [SIGNATURE]: `sha256=${Buffer.from(base64, 'base64').toString('hex')}` };
  return { ...usualHeaders(of), ...signature, ...rest };
}

/** Timings as they are stored: lookup, connection, TLS, first byte and total, and whether the request was sent again. */
export type StoredTimings = readonly [
  lookup: number | null,
  connect: number | null,
  tls: number | null,
  firstByte: number | null,
  total: number,
  reconnected?: true,
];

export function toStoredTimings(timings: AttemptTimings): StoredTimings {
  const { lookup_ms, connect_ms, tls_ms, first_byte_ms, total_ms, reconnected } = timings;
  const times = [lookup_ms, connect_ms, tls_ms, first_byte_ms, total_ms] as const;
  return reconnected ? [...times, true] : times;
}

/** Returns the timings of an attempt. Previous versions have stored them with their names. */
export function fromStoredTimings(stored: StoredTimings | AttemptTimings): AttemptTimings {
  if (!isWithoutNames(stored)) return stored;
  const [lookup_ms, connect_ms, tls_ms, first_byte_ms, total_ms, reconnected] = stored;
  const timings = { lookup_ms, connect_ms, tls_ms, first_byte_ms, total_ms };
  return reconnected ? { ...timings, reconnected } : timings;
}

function isWithoutNames(stored: StoredTimings | AttemptTimings): stored is StoredTimings {
  return Array.isArray(stored);
}
