import type { Credentials } from './credentials.ts';
import { BatonProblem, BatonUnreachable } from './problem.ts';
import { retryDelay } from './retry.ts';
import { pause, startTimeout, type Timeout } from './time.ts';

type Scalar = string | number | boolean;
/** Query parameters. An array repeats the parameter; null and undefined omit it. */
export type Query = Record<string, Scalar | readonly Scalar[] | null | undefined>;

/** A request. After a transient failure it is retried if it is a GET, has an idempotency key, or is `isRepeatable`. */
export type HttpRequest = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path below the base URL, with encoded ids: see {@link pathOf}. */
  path: string;
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
  isRepeatable?: boolean;
  /** The maximum number of retries. Default: the client's `retries`. */
  retries?: number;
  /** Added to the client's time limit for a response, in milliseconds. */
  extraMs?: number;
  signal?: AbortSignal | undefined;
};

/** A successful response with an unread body, and its time limit. */
export type OpenResponse = { response: Response; timeout: Timeout };

/** The HTTP client of one service. */
export type Http = {
  baseUrl: string;
  credentials: Credentials;
  random: () => number;
  /**
   * Sends a request and returns the JSON of the response, or undefined if the body is empty.
   * @throws BatonProblem, BatonUnreachable, or the reason of the request's signal
   */
  json<T>(request: HttpRequest): Promise<T>;
  /**
   * Sends a request and returns the response with an unread body. The caller must release the timeout after reading.
   * A failed request is not retried.
   * @throws the same errors as `json`
   */
  open(request: HttpRequest): Promise<OpenResponse>;
};

export type HttpDependencies = {
  baseUrl: string;
  credentials: Credentials;
  fetch: typeof globalThis.fetch;
  timeoutMs: number;
  retries: number;
  random: () => number;
};

/** Creates the HTTP client. */
export function createHttp(deps: HttpDependencies): Http {
  const { baseUrl, credentials, random } = deps;

  async function attempt<T>(
    request: HttpRequest,
    authHeaders: Record<string, string>,
    read: (opened: OpenResponse) => Promise<T>,
  ): Promise<T> {
    const timeout = startTimeout(deps.timeoutMs + (request.extraMs ?? 0), request.signal);
    try {
      const response = await send(
        deps,
        { ...request, headers: { ...authHeaders, ...request.headers } },
        timeout.signal,
      );
      if (!response.ok) throw new BatonProblem(response, await response.json().catch(() => null));
      return await read({ response, timeout });
    } catch (error) {
      timeout.release();
      if (request.signal?.aborted) throw request.signal.reason;
      if (error instanceof BatonProblem) throw error;
      throw new BatonUnreachable(`Baton at ${baseUrl} did not respond.`, { cause: error });
    }
  }

  /** Retries a request once with a new token if the token was rejected, because it may have just expired. */
  async function attemptAuthorized<T>(
    request: HttpRequest,
    read: (opened: OpenResponse) => Promise<T>,
  ): Promise<T> {
    // Outside of the try block: a failure of the token source does not mean that Baton is unreachable.
    const authHeaders = await credentials.headers();
    try {
      return await attempt(request, authHeaders, read);
    } catch (error) {
      const isUnauthorized = error instanceof BatonProblem && error.status === 401;
      if (!isUnauthorized || !credentials.discard(authHeaders)) throw error;
      return await attempt(request, await credentials.headers(), read);
    }
  }

  async function json<T>(request: HttpRequest): Promise<T> {
    const isRepeatable =
      request.isRepeatable ??
      (request.method === 'GET' || request.headers?.['Idempotency-Key'] !== undefined);
    for (let failures = 1; ; failures++) {
      try {
        return await attemptAuthorized(request, readJson<T>);
      } catch (error) {
        if (request.signal?.aborted || failures > (request.retries ?? deps.retries)) throw error;
        const delayMs = retryDelay(error, { failures, isRepeatable, random });
        if (delayMs === null) throw error;
        await pause(delayMs, request.signal);
      }
    }
  }

  return {
    baseUrl,
    credentials,
    random,
    json,
    open: (request) => attemptAuthorized(request, (opened) => Promise.resolve(opened)),
  };
}

async function send(
  { baseUrl, fetch }: HttpDependencies,
  { method, path, query, body, headers }: HttpRequest,
  signal: AbortSignal,
): Promise<Response> {
  return await fetch(baseUrl + path + queryString(query ?? {}), {
    method,
    headers: {
      Accept: 'application/json',
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    // The API never redirects. Another server must not receive the key.
    redirect: 'error',
    signal,
  });
}

async function readJson<T>({ response, timeout }: OpenResponse): Promise<T> {
  const text = await response.text();
  timeout.release();
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/** Returns a path below `/api/v1` with each part encoded. */
export function pathOf(...parts: string[]): string {
  return ['/api/v1', ...parts.map(encodeURIComponent)].join('/');
}

function queryString(query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const item of [value ?? []].flat()) search.append(name, String(item));
  }
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}
