import { PROBLEM_CODES } from './vocabulary.ts';
import type { MemberError, ProblemBody, ProblemCode } from './types.ts';

/** Baton said no (RFC 9457). `message` is the problem's `detail`, which is written for people. */
export class BatonProblem extends Error {
  override name = 'BatonProblem';
  /** The HTTP status. */
  readonly status: number;
  /** Stable; `unknown` where something in between answered, a proxy for example. */
  readonly code: ProblemCode | 'unknown';
  readonly title: string;
  readonly detail: string;
  /** All that is wrong with what was sent, if that is what is wrong. */
  readonly errors: readonly MemberError[];
  /** By which the service's log names this request; null where the answer did not name it. */
  readonly requestId: string | null;
  /** After so many milliseconds another try makes sense, where the answer said so. */
  readonly retryAfterMs: number | null;

  constructor(response: Response, body: unknown, now: number = Date.now()) {
    const problem = isProblem(body) ? body : null;
    super(problem?.detail ?? `The answer has status ${response.status} and is none of Baton's.`);
    this.status = response.status;
    this.code = problem && isCode(problem.code) ? problem.code : 'unknown';
    this.title = problem?.title ?? response.statusText;
    this.detail = this.message;
    this.errors = problem?.errors ?? [];
    this.requestId = problem?.request_id ?? response.headers.get('X-Request-Id');
    this.retryAfterMs = retryAfter(response.headers.get('Retry-After'), now);
  }
}

/** No answer came: the network is down, or the service, or it took too long. `cause` says what happened. */
export class BatonUnreachable extends Error {
  override name = 'BatonUnreachable';
}

/** What was waited for did not happen in the time that was given, or can not happen any more. The run itself goes on. */
export class BatonTimeout extends Error {
  override name = 'BatonTimeout';
}

/** The milliseconds of `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date; null where it is neither. */
export function retryAfter(value: string | null, now: number): number | null {
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
