import type { Credentials } from './credentials.ts';
import { BatonProblem, BatonUnreachable } from './problem.ts';
import { waitBeforeRetry } from './retry.ts';
import { limited, pause, type Limit } from './time.ts';

type Scalar = string | number | boolean;
/** The parameters of a query; several values of one are repeated, and what is missing is left out. */
export type Query = Record<string, Scalar | readonly Scalar[] | null | undefined>;

/** One request. It may be sent again by itself if it is a GET, has an idempotency key, or `isRepeatable` says so. */
export type Call = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the base address, with ids encoded: see {@link pathOf}. */
  path: string;
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
  isRepeatable?: boolean;
  /** How often it is sent again at most, in the place of what the client was told. */
  retries?: number;
  /** Added to the time that an answer may take, in milliseconds. */
  extraMs?: number;
  signal?: AbortSignal | undefined;
};

/** A good answer that is still coming in. */
export type Incoming = { response: Response; limit: Limit };

/** Speaks HTTP to one service. */
export type Http = {
  baseUrl: string;
  credentials: Credentials;
  random: () => number;
  /**
   * The JSON of a good answer, undefined where it has none.
   * @throws BatonProblem, BatonUnreachable, or the reason of the call's signal
   */
  json<T>(call: Call): Promise<T>;
  /** The same for an answer that is read by the caller, who releases its limit in the end. Never sent again. */
  open(call: Call): Promise<Incoming>;
};

export type HttpDependencies = {
  baseUrl: string;
  credentials: Credentials;
  fetch: typeof globalThis.fetch;
  timeoutMs: number;
  retries: number;
  random: () => number;
};

export function createHttp(deps: HttpDependencies): Http {
  const { baseUrl, credentials, random } = deps;

  async function attempt<T>(call: Call, read: (incoming: Incoming) => Promise<T>): Promise<T> {
    // What goes wrong where tokens come from is no silence of Baton's.
    const credential = await credentials.headers();
    const limit = limited(deps.timeoutMs + (call.extraMs ?? 0), call.signal);
    try {
      const response = await send(
        deps,
        { ...call, headers: { ...credential, ...call.headers } },
        limit.signal,
      );
      if (!response.ok) throw new BatonProblem(response, await response.json().catch(() => null));
      return await read({ response, limit });
    } catch (error) {
      limit.release();
      if (call.signal?.aborted) throw call.signal.reason;
      if (error instanceof BatonProblem) throw error;
      throw new BatonUnreachable(`Baton at ${baseUrl} did not answer.`, { cause: error });
    }
  }

  /** A token may have expired on the way: a newer one gets one more try. */
  async function authorized<T>(call: Call, read: (incoming: Incoming) => Promise<T>): Promise<T> {
    try {
      return await attempt(call, read);
    } catch (error) {
      const isRefused = error instanceof BatonProblem && error.status === 401;
      if (!isRefused || !credentials.refused()) throw error;
      return await attempt(call, read);
    }
  }

  async function json<T>(call: Call): Promise<T> {
    const isRepeatable =
      call.isRepeatable ?? (call.method === 'GET' || call.headers?.['Idempotency-Key'] !== undefined);
    for (let failures = 1; ; failures++) {
      try {
        return await authorized(call, readJson<T>);
      } catch (error) {
        if (call.signal?.aborted || failures > (call.retries ?? deps.retries)) throw error;
        const wait = waitBeforeRetry(error, { failures, isRepeatable, random });
        if (wait === null) throw error;
        await pause(wait, call.signal);
      }
    }
  }

  return {
    baseUrl,
    credentials,
    random,
    json,
    open: (call) => authorized(call, (incoming) => Promise.resolve(incoming)),
  };
}

async function send(
  { baseUrl, fetch }: HttpDependencies,
  { method, path, query, body, headers }: Call,
  signal: AbortSignal,
): Promise<Response> {
  return await fetch(baseUrl + path + searchOf(query ?? {}), {
    method,
    headers: {
      Accept: 'application/json',
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    // The API redirects nothing; whoever else does must not be handed the key.
    redirect: 'error',
    signal,
  });
}

async function readJson<T>({ response, limit }: Incoming): Promise<T> {
  const text = await response.text();
  limit.release();
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** A path below `/api/v1`; each part is encoded. */
export function pathOf(...parts: string[]): string {
  return ['/api/v1', ...parts.map(encodeURIComponent)].join('/');
}

function searchOf(query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value ?? []].flat()) search.append(name, String(one));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}
