import type { components } from '../.generated/api.d.ts';

type ProblemBody = components['schemas']['Problem'];

/** One validation error: a `pointer` into the body (RFC 6901), or the name of a `parameter`. */
export type FieldError = NonNullable<ProblemBody['errors']>[number];

/** An error response of the API (RFC 9457). `message` is its `detail`, which is written for people. */
export class ApiProblem extends Error {
  override name = 'ApiProblem';
  readonly status: number;
  readonly code: ProblemBody['code'] | 'unknown';
  readonly requestId: string | null;
  readonly errors: readonly FieldError[];
  /** The seconds of the Retry-After header; null without the header. */
  readonly retryAfter: number | null;

  constructor(response: Response, body: unknown) {
    const problem = isProblem(body) ? body : null;
    super(problem?.detail ?? `The server returned an unexpected error (${response.status}).`);
    this.status = response.status;
    this.code = problem?.code ?? 'unknown';
    this.requestId = problem?.request_id ?? response.headers.get('X-Request-Id');
    this.errors = problem?.errors ?? [];
    const after = Number(response.headers.get('Retry-After'));
    this.retryAfter = after > 0 ? after : null;
  }

  /** Returns the message for one field of the body; null if the field has no error. */
  errorAt(pointer: string): string | null {
    return this.errors.find((error) => error.pointer === pointer)?.message ?? null;
  }
}

/** No response: the network or the server is down. */
export class Unreachable extends Error {
  override name = 'Unreachable';

  constructor(cause: unknown) {
    super('Cannot reach the server. Check your connection, then try again.', {
      cause,
    });
  }
}

/** Returns true for the error of a missing or ended session. */
export function isSignedOut(error: unknown): boolean {
  return error instanceof ApiProblem && error.status === 401;
}

/** Returns true for the error of an object that does not exist any more. */
export function isNotFound(error: unknown): boolean {
  return error instanceof ApiProblem && error.status === 404;
}

/** Returns true if the same request may succeed soon. */
export function isTransient(error: unknown): boolean {
  return (
    error instanceof Unreachable ||
    (error instanceof ApiProblem && [429, 502, 503, 504].includes(error.status))
  );
}

function isProblem(body: unknown): body is ProblemBody {
  return body !== null && typeof body === 'object' && 'detail' in body && 'code' in body;
}
