import { CliError, EXIT, RetryLater, usageError } from './exit-codes.ts';
import { printable } from './output.ts';

/** The credential of requests. */
export type Credential =
  | { kind: 'key'; key: string }
  | { kind: 'session'; cookie: string }
  | { kind: 'none' };

export type RequestOptions = {
  /** Sent as JSON. */
  body?: unknown;
  /** JSON text that is sent unchanged instead of `body`. */
  text?: string;
  query?: Record<string, string | number | readonly string[] | undefined>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
};

/**
 * The API client. Calls reject with a CliError: exit code 5 if the server rejects the request, 6 if it is
 * unreachable, 2 for a redirect and for a header that cannot be sent.
 */
export type Api = {
  baseUrl: string;
  /** The headers that identify the caller. */
  headers: Record<string, string>;
  /** Returns the JSON of the response; undefined without a body. `path` starts with `/`. */
  call<T>(method: string, path: string, options?: RequestOptions): Promise<T>;
  /** Returns a 2xx response. */
  open(method: string, path: string, options?: RequestOptions): Promise<Response>;
};

type ProblemBody = {
  title?: string | undefined;
  detail?: string | undefined;
  code?: string | undefined;
  request_id?: string | undefined;
  errors?: readonly {
    pointer?: string | undefined;
    parameter?: string | undefined;
    message?: string | undefined;
  }[];
};

export function createApi(baseUrl: string, credential: Credential): Api {
  const headers = credentialHeaders(baseUrl, credential);
  const open: Api['open'] = async (method, path, options = {}) => {
    const response = await send(baseUrl, method, path, {
      ...options,
      headers: { ...headers, ...options.headers },
    });
    if (response.ok) return response;
    const location = response.headers.get('location');
    if (response.status < 400 && location !== null)
      throw usageError(
        `${baseUrl} redirects to ${printable(location)} (${response.status}). Set BATON_URL to the address of the service`,
      );
    throw refusal(response.status, await problemOf(response), response.headers.get('retry-after'));
  };
  return {
    baseUrl,
    headers,
    open,
    async call<T>(method: string, path: string, options?: RequestOptions) {
      const response = await open(method, path, options);
      const text = await response.text().catch((error) => Promise.reject(unreachable(baseUrl, error)));
      if (text === '') return undefined as T;
      try {
        return JSON.parse(text) as T;
      } catch {
        throw new CliError(
          EXIT.unavailable,
          `${baseUrl} is not Baton: the response is not JSON. Check BATON_URL`,
        );
      }
    },
  };
}

async function send(
  baseUrl: string,
  method: string,
  path: string,
  { body, text = JSON.stringify(body), query = {}, headers = {}, signal }: RequestOptions,
): Promise<Response> {
  const url = new URL(baseUrl + path);
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined) url.searchParams.append(name, String(one));
  }
  const allHeaders = headersOf({
    accept: 'application/json',
    ...(text === undefined ? {} : { 'content-type': 'application/json' }),
    ...headers,
  });
  try {
    return await fetch(url, {
      method,
      redirect: 'manual',
      headers: allHeaders,
      ...(text === undefined ? {} : { body: text }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    throw unreachable(baseUrl, error);
  }
}

/** @throws CliError (exit code 2) for a value that a header cannot contain, without this value: it may be a key */
function headersOf(values: Record<string, string>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(values)) {
    try {
      headers.set(name, value);
    } catch {
      throw usageError(`The value for the header ${name} contains characters that a header cannot contain`);
    }
  }
  return headers;
}

function credentialHeaders(baseUrl: string, credential: Credential): Record<string, string> {
  if (credential.kind === 'key') return { 'x-api-key': credential.key };
  // The service accepts cookies only from its own pages, so these requests send its origin.
  const origin = new URL(baseUrl).origin;
  return credential.kind === 'session' ? { cookie: credential.cookie, origin } : { origin };
}

export function unreachable(baseUrl: string, error: unknown): CliError {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const why = code === 'ECONNREFUSED' ? 'connection refused' : code;
  return new CliError(
    EXIT.unavailable,
    `The server at ${baseUrl} is unreachable${why === '' ? '' : ` (${why})`}`,
  );
}

const TOO_MANY_REQUESTS = 429;
const CONFLICT = 409;
/** The wait after a 429 that does not say how long, in milliseconds. */
const DEFAULT_RETRY_AFTER_MS = 1_000;

/** Returns the error of a response that is not 2xx: the detail of its problem, and each invalid field. */
export function refusal(status: number, problem: ProblemBody, retryAfter: string | null): CliError {
  const exitCode = status >= 500 ? EXIT.unavailable : EXIT.refused;
  const lines = [problem.detail ?? problem.title ?? `The server returned ${status}`];
  for (const { pointer, parameter, message } of problem.errors ?? []) {
    lines.push(`  ${pointer === '' ? '(the whole body)' : (pointer ?? parameter ?? '')}: ${message ?? ''}`);
  }
  if (retryAfter !== null) lines.push(`  Try again in ${retryAfter} s.`);
  const marks = [problem.code, problem.request_id && `request ${problem.request_id}`].filter(Boolean);
  const [first = '', ...rest] = lines.map(
    (line) => line.slice(0, line.search(/\S/)) + printable(line.trim()),
  );
  const tail = marks.length === 0 ? '' : ` (${printable(marks.join(', '))})`;
  const message = [first + tail, ...rest].join('\n');
  const isTemporary = status === TOO_MANY_REQUESTS || (status === CONFLICT && retryAfter !== null);
  if (!isTemporary) return new CliError(exitCode, message);
  return new RetryLater(message, 1_000 * Number(retryAfter) || DEFAULT_RETRY_AFTER_MS);
}

async function problemOf(response: Response): Promise<ProblemBody> {
  try {
    const body: unknown = JSON.parse(await response.text());
    return body !== null && typeof body === 'object' ? body : {};
  } catch {
    return {};
  }
}
