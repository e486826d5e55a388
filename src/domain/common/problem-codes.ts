/** Every problem that the API can answer with: its status and title (docs/http-api.md). Codes are stable. */
export const PROBLEMS = {
  malformed_json: { status: 400, title: 'The body is no JSON' },
  bad_request: { status: 400, title: 'The request can not be understood' },
  unauthenticated: { status: 401, title: 'A valid credential is needed' },
  project_not_allowed: { status: 403, title: 'The project is not open to this credential' },
  forbidden: { status: 403, title: 'The credential does not allow this' },
  not_found: { status: 404, title: 'There is no such thing' },
  method_not_allowed: { status: 405, title: 'The method is not allowed here' },
  not_acceptable: { status: 406, title: 'No answer in an accepted media type' },
  invalid_state: { status: 409, title: 'The state does not allow this' },
  conflict: { status: 409, title: 'The request conflicts with what is there' },
  payload_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The media type is not supported' },
  validation_failed: { status: 422, title: 'The body is not valid' },
  idempotency_key_reused: { status: 422, title: 'The idempotency key belongs to another request' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal_error: { status: 500, title: 'Something went wrong here' },
  unavailable: { status: 503, title: 'The service is not available right now' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

/** What may be wrong with one member of a body or one parameter. */
export const MEMBER_PROBLEMS = [
  'required',
  'wrong_type',
  'unknown_member',
  'too_short',
  'too_long',
  'too_small',
  'too_large',
  'too_deep',
  'not_allowed',
  'invalid_format',
  'not_https',
  'not_storable',
  'number_not_exact',
  'blank',
] as const;
export type MemberProblem = (typeof MEMBER_PROBLEMS)[number];
