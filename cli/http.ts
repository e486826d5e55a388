import { CliError, EXIT } from './exit-codes.ts';
import { printable } from './output.ts';

/** How requests say who sends them. */
export type Credential =
  | { kind: 'key'; key: string }
  | { kind: 'session'; cookie: string }
  | { kind: 'none' };

export type RequestOptions = {
  /** Sent as JSON. */
  body?: unknown;
  /** JSON that is sent as it stands, in the place of `body`. */
  text?: string;
  query?: Record<string, string | number | readonly string[] | undefined>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
};

/** The service over HTTP. Every call rejects with a CliError: exit code 5 where it refuses, 6 where it is not there. */
export type Api = {
  baseUrl: string;
  /** The answer's JSON, undefined where there is none. `path` begins with `/`. */
  call<T>(method: string, path: string, options?: RequestOptions): Promise<T>;
  /** The answer itself, once it is known to be a 2xx. */
  open(method: string, path: string, options?: RequestOptions): Promise<Response>;
};

type ProblemBody = {
  title?: string;
  detail?: string;
  code?: string;
  request_id?: string;
  errors?: { pointer?: string; parameter?: string; message?: string }[];
};

export function createApi(baseUrl: string, credential: Credential): Api {
  const open: Api['open'] = async (method, path, options = {}) => {
    const response = await send(baseUrl, credential, method, path, options);
    if (response.ok) return response;
    throw await refusalOf(response);
  };
  return {
    baseUrl,
    open,
    async call<T>(method: string, path: string, options?: RequestOptions) {
      const response = await open(method, path, options);
      const text = await response.text().catch((error) => Promise.reject(outOfReach(baseUrl, error)));
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
  credential: Credential,
  method: string,
  path: string,
  { body, text = JSON.stringify(body), query = {}, headers = {}, signal }: RequestOptions,
): Promise<Response> {
  const url = new URL(baseUrl + path);
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined) url.searchParams.append(name, String(one));
  }
  try {
    return await fetch(url, {
      method,
      redirect: 'manual',
      headers: {
        accept: 'application/json',
        ...credentialHeaders(baseUrl, credential),
        ...(text === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(text === undefined ? {} : { body: text }),
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    throw outOfReach(baseUrl, error);
  }
}

function credentialHeaders(baseUrl: string, credential: Credential): Record<string, string> {
  if (credential.kind === 'key') return { 'x-api-key': credential.key };
  // Requests with a cookie are taken only from the service's own pages, so they name their origin.
  const origin = new URL(baseUrl).origin;
  return credential.kind === 'session' ? { cookie: credential.cookie, origin } : { origin };
}

function outOfReach(baseUrl: string, error: unknown): CliError {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const why = code === 'ECONNREFUSED' ? 'connection refused' : code;
  return new CliError(
    EXIT.unavailable,
    `The server at ${baseUrl} is unreachable${why === '' ? '' : ` (${why})`}`,
  );
}

/** What a refusal says: its detail, and each member that is wrong. */
async function refusalOf(response: Response): Promise<CliError> {
  const problem = await problemOf(response);
  const exitCode = response.status >= 500 ? EXIT.unavailable : EXIT.refused;
  const lines = [problem.detail ?? problem.title ?? `The server returned ${response.status}`];
  for (const { pointer, parameter, message } of problem.errors ?? []) {
    lines.push(`  ${pointer === '' ? '(the whole body)' : (pointer ?? parameter ?? '')}: ${message ?? ''}`);
  }
  const retryAfter = response.headers.get('retry-after');
  if (retryAfter !== null) lines.push(`  Try again in ${retryAfter} s.`);
  const marks = [problem.code, problem.request_id && `request ${problem.request_id}`].filter(Boolean);
  const [first = '', ...rest] = lines.map(
    (line) => line.slice(0, line.search(/\S/)) + printable(line.trim()),
  );
  const tail = marks.length === 0 ? '' : ` (${printable(marks.join(', '))})`;
  return new CliError(exitCode, [first + tail, ...rest].join('\n'));
}

async function problemOf(response: Response): Promise<ProblemBody> {
  try {
    const body: unknown = JSON.parse(await response.text());
    return body !== null && typeof body === 'object' ? body : {};
  } catch {
    return {};
  }
}
