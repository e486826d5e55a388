import { lookup as systemLookup, Resolver } from 'node:dns/promises';
import { readFileSync, statSync } from 'node:fs';
import type { Lookup } from './resolve.ts';

export type NameSources = {
  /** Name servers as `address:port`; default: those of the system. */
  servers?: readonly string[];
  hostsFile?: string;
  /** The system's resolver, for names that are in neither the file nor the DNS. */
  system?: Lookup;
};

/**
 * Timeout of the first try of a query, in milliseconds, and the number of tries. Later tries have longer timeouts.
 */
const QUERY_MS = 2_500;
const QUERY_TRIES = 3;
/** How long to wait for IPv6 addresses after the IPv4 ones, in milliseconds (similar to RFC 8305). */
const SECOND_FAMILY_MS = 100;
/** After this time in milliseconds, the system's name servers are read again, because they may have changed. */
const SERVERS_CACHE_MS = 30_000;
/** Errors that mean that a name is not in the DNS, or that there is no DNS. The system may still resolve it. */
const NOT_IN_DNS = new Set(['ENOTFOUND', 'ENODATA', 'ECONNREFUSED', 'ENONAME', 'EBADNAME']);

/**
 * Creates a lookup that resolves names like the system, but not on its few threads, which a handful of names with
 * dead servers would block for all others. The order is: the hosts file, the name servers, and the system's resolver
 * for other names (short names in a cluster, names of the local network). IPv4 addresses come first.
 */
export function createLookup({
  servers,
  hostsFile = '/etc/hosts',
  system = bySystem,
}: NameSources = {}): Lookup {
  // On other platforms the system knows more name servers than Node does.
  if (process.platform !== 'linux') return system;
  const hosts = createHostsFile(hostsFile);
  const resolver = createResolver(servers);
  return async (hostname) => {
    const listed = hosts.addressesOf(hostname);
    if (listed.length > 0) return listed;
    try {
      return await ask(resolver(), hostname);
    } catch (error) {
      if (!NOT_IN_DNS.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
      return await system(hostname);
    }
  };
}

const bySystem: Lookup = async (hostname) => {
  const found = await systemLookup(hostname, { all: true, order: 'ipv4first' });
  return found.map(({ address }) => address);
};

type Answer = { addresses: readonly string[] } | { error: unknown };

async function ask(resolver: Resolver, hostname: string): Promise<readonly string[]> {
  const [ipv4, ipv6] = [toAnswer(resolver.resolve4(hostname)), toAnswer(resolver.resolve6(hostname))];
  const first = await ipv4;
  if ('error' in first) {
    const second = await ipv6;
    if ('error' in second) throw moreSpecificError(first.error, second.error);
    return second.addresses;
  }
  const second = await inTime(ipv6, SECOND_FAMILY_MS);
  return second === null || 'error' in second ? first.addresses : [...first.addresses, ...second.addresses];
}

function toAnswer(query: Promise<string[]>): Promise<Answer> {
  return query.then(
    (addresses) => ({ addresses }),
    (error: unknown) => ({ error }),
  );
}

/** Returns the more specific of two errors: ENODATA only says that a family has no address. */
function moreSpecificError(one: unknown, other: unknown): unknown {
  return (one as NodeJS.ErrnoException).code === 'ENODATA' ? other : one;
}

async function inTime<T>(work: Promise<T>, ms: number): Promise<T | null> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function createResolver(servers: readonly string[] | undefined): () => Resolver {
  let current: Resolver | null = null;
  let until = 0;
  return () => {
    if (current !== null && performance.now() < until) return current;
    current = new Resolver({ timeout: QUERY_MS, tries: QUERY_TRIES });
    if (servers !== undefined) current.setServers(servers);
    until = performance.now() + SERVERS_CACHE_MS;
    return current;
  };
}

/** Reads a file like `/etc/hosts`, again after each change. */
function createHostsFile(path: string): { addressesOf(hostname: string): readonly string[] } {
  let version = '';
  let names = new Map<string, string[]>();
  return {
    addressesOf(hostname) {
      const { mtimeMs = 0, size = 0, ino = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
      const present = `${mtimeMs} ${size} ${ino}`;
      if (present !== version) {
        version = present;
        names = namesIn(path);
      }
      return names.get(hostname.replace(/\.$/, '').toLowerCase()) ?? [];
    },
  };
}

function namesIn(path: string): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const line of textOf(path).split('\n')) {
    const [address = '', ...aliases] = line.replace(/#.*/, '').trim().split(/\s+/);
    for (const alias of aliases) {
      const name = alias.toLowerCase();
      names.set(name, [...(names.get(name) ?? []), address]);
    }
  }
  for (const addresses of names.values()) addresses.sort((one, other) => familyOf(one) - familyOf(other));
  return names;
}

function familyOf(address: string): number {
  return address.includes(':') ? 6 : 4;
}

/** A missing or unreadable file is empty. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
