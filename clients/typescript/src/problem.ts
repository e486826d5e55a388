import { PROBLEM_CODES } from './vocabulary.ts';
import type { MemberError, ProblemBody, ProblemCode } from './types.ts';

/** Baton rejected the request (RFC 9457). `message` is the `detail` of the problem, a text for people. */
export class BatonProblem extends Error {
  override name = 'BatonProblem';
  /** The HTTP status. */
  readonly status: number;
  /** A stable code. `unknown` if the response does not come from Baton, for example from a proxy. */
  readonly code: ProblemCode | 'unknown';
  readonly title: string;
  readonly detail: string;
  /** All errors in the request body and parameters. Empty if the request was rejected for another reason. */
  readonly errors: readonly MemberError[];
  /** The id of this request in the log of the service. `null` if the response has none. */
  readonly requestId: string | null;
  /** The delay before the next attempt, in milliseconds. `null` if the response does not specify one. */
  readonly retryAfterMs: number | null;

  constructor(response: Response, body: unknown, now: number = Date.now()) {
    const problem = isProblem(body) ? body : null;
    super(problem?.detail ?? `The response has status ${response.status} and does not come from Baton.`);
    this.status = response.status;
    this.code = problem && isCode(problem.code) ? problem.code : 'unknown';
    this.title = problem?.title ?? response.statusText;
    this.detail = this.message;
    this.errors = problem?.errors ?? [];
    this.requestId = problem?.request_id ?? response.headers.get('X-Request-Id');
    this.retryAfterMs = parseRetryAfter(response.headers.get('Retry-After'), now);
  }
}

/** No response arrived: the network or the service is down, or the time limit was exceeded. `cause` has the reason. */
export class BatonUnreachable extends Error {
  override name = 'BatonUnreachable';
}

/** The awaited condition was not met in time, or cannot be met any more. The run itself is not affected. */
export class BatonTimeout extends Error {
  override name = 'BatonTimeout';
}

/**
 * Returns the delay of a `Retry-After` header in milliseconds (RFC 9110, section 10.2.3). Returns null if the value is
 * neither seconds nor a date.
 */
export function parseRetryAfter(value: string | null, now: number): number | null {
  if (value === null) return null;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * 1_000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

function isProblem(body: unknown): body is ProblemBody {
  return body !== null && typeof body === 'object' && 'detail' in body && 'code' in body;
}

function isCode(code: string): code is ProblemCode {
  return (PROBLEM_CODES as readonly string[]).includes(code);
}
