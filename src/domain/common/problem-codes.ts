/** All problems of the API, with status and title (docs/http-api.md). Codes are stable. */
export const PROBLEMS = {
  malformed_json: { status: 400, title: 'The body is not valid JSON' },
  bad_request: { status: 400, title: 'Bad request' },
  unauthenticated: { status: 401, title: 'Missing or invalid credentials' },
  project_not_allowed: { status: 403, title: 'No access to this project' },
  forbidden: { status: 403, title: 'Forbidden' },
  not_found: { status: 404, title: 'Not found' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  not_acceptable: { status: 406, title: 'No acceptable media type' },
  request_timeout: { status: 408, title: 'The request took too long' },
  invalid_state: { status: 409, title: 'Not allowed in the current state' },
  conflict: { status: 409, title: 'Conflict' },
  payload_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  validation_failed: { status: 422, title: 'Validation failed' },
  idempotency_key_reused: { status: 422, title: 'Idempotency key already used' },
  rate_limited: { status: 429, title: 'Too many requests' },
  headers_too_large: { status: 431, title: 'The headers are too large' },
  internal_error: { status: 500, title: 'Internal error' },
  unavailable: { status: 503, title: 'Service unavailable' },
} as const satisfies Record<string, { status: number; title: string }>;

export type ProblemCode = keyof typeof PROBLEMS;

/** Problems of one field of a body or of one parameter. */
export const FIELD_PROBLEMS = [
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
export type FieldProblem = (typeof FIELD_PROBLEMS)[number];
