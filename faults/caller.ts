import { setTimeout as wait } from 'node:timers/promises';

/** A response; null if there was none. */
export type ApiResponse = {
  status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- responses of every shape
  json: any;
} | null;

/** An HTTP client of the service. */
export type Caller = {
  /** Sends a request to one of the APIs. Returns null if the connection broke or there was no response in time. */
  request(
    method: string,
    path: string,
    options?: { body?: unknown; headers?: Record<string, string> },
  ): Promise<ApiResponse>;
  /** Repeats the request until the response has one of these statuses. Returns null once `isOver` is true. */
  requestUntil(
    method: string,
    path: string,
    options: { body?: unknown; headers?: Record<string, string>; until: readonly number[] },
    isOver?: () => boolean,
  ): Promise<ApiResponse>;
  /** How many requests got a response, were refused with 503, and were interrupted. */
  counts: Readonly<{ completed: number; refused: number; cut: number }>;
  /** A sentence for each undocumented response. */
  unexpectedResponses: readonly string[];
};

const RESPONSE_TIMEOUT_MS = 20_000;
const RETRY_INTERVAL_MS = 400;
/** The statuses that a valid request may get: success, conflict, too many requests, or temporarily unavailable. */
const DOCUMENTED_STATUSES = new Set([200, 201, 202, 204, 409, 429, 503]);

/** Creates a caller that sends its requests to these APIs in turn. */
export function createCaller(urls: readonly string[], apiKey: string): Caller {
  const counts = { completed: 0, refused: 0, cut: 0 };
  const unexpectedResponses: string[] = [];
  let requestCount = 0;

  const request: Caller['request'] = async (method, path, { body, headers = {} } = {}) => {
    const url = urls[requestCount++ % urls.length] ?? '';
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          'X-API-Key': apiKey,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS),
      });
      const text = await response.text();
      const { status } = response;
      if (status === 503) counts.refused += 1;
      else counts.completed += 1;
      if (!DOCUMENTED_STATUSES.has(status))
        unexpectedResponses.push(`${method} ${path} got ${status}: ${text.slice(0, 300)}`);
      return { status, json: text === '' ? null : JSON.parse(text) };
    } catch {
      counts.cut += 1;
      return null;
    }
  };
  return {
    request,
    counts,
    unexpectedResponses,
    async requestUntil(method, path, { until, ...options }, isOver = () => false) {
      for (;;) {
        const response = await request(method, path, options);
        if (response && until.includes(response.status)) return response;
        if (isOver()) return null;
        await wait(RETRY_INTERVAL_MS);
      }
    },
  };
}
