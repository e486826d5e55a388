import { PROBLEMS, type ProblemCode } from '../../domain/common/problem-codes.ts';
import type { ProblemEntry } from '../../domain/common/validation.ts';

type ProblemOptions = { headers?: Record<string, string>; errors?: ProblemEntry[]; cause?: unknown };

/** An error response. `detail` is read by people and reveals no internals. */
export class Problem extends Error {
  override name = 'Problem';
  readonly code: ProblemCode;
  readonly headers: Record<string, string>;
  readonly errors: ProblemEntry[] | undefined;

  constructor(code: ProblemCode, detail: string, { headers = {}, errors, cause }: ProblemOptions = {}) {
    super(detail, { cause });
    this.code = code;
    this.headers = headers;
    this.errors = errors;
  }

  get status(): number {
    return PROBLEMS[this.code].status;
  }
}

/** Returns the result of the work; null if it fails because something was not found. */
export async function nullIfNotFound<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return null;
    throw error;
  }
}

/** Returns the body of a problem (RFC 9457). `instance` is the path of the request. */
export function problemBody(problem: Problem, instance: string, requestId: string) {
  return {
    type: `/problems/${problem.code}`,
    title: PROBLEMS[problem.code].title,
    status: problem.status,
    detail: problem.message,
    instance,
    code: problem.code,
    request_id: requestId,
    ...(problem.errors ? { errors: problem.errors } : {}),
  };
}

export const notFound = (what: string): Problem =>
  new Problem('not_found', `The ${what} does not exist, or the credential has no access to it.`);

export const unavailable = (what: string, cause?: unknown): Problem =>
  new Problem('unavailable', `${what} is unavailable. Nothing was accepted. Try again soon.`, {
    headers: { 'Retry-After': '2' },
    cause,
  });
