import {
  A2A_ERROR_CODE,
  A2AError,
  ContentTypeNotSupportedError,
  RequestMalformedError,
  restStatusFor,
  TaskNotFoundError,
  toJsonRpcError,
  toRestErrorBody,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import type { ProblemCode } from '../../domain/common/problem-codes.ts';
import { Problem } from '../http/problem.ts';

/** The protocol's errors for problems of requests. All other problems have none: see {@link jsonRpcErrorOf}. */
const ERRORS: Partial<Record<ProblemCode, new (message: string) => A2AError>> = {
  not_found: TaskNotFoundError,
  bad_request: RequestMalformedError,
  validation_failed: RequestMalformedError,
  project_not_allowed: RequestMalformedError,
  idempotency_key_reused: RequestMalformedError,
  invalid_state: UnsupportedOperationError,
  unsupported_media_type: ContentTypeNotSupportedError,
};

/** JSON-RPC reserves -32000 to -32099 for servers. The protocol uses them from -32001. */
const SERVER_ERROR = -32_000;

/** Names of statuses of `google.rpc.Code`, by HTTP status (AIP-193). */
const STATUS_NAMES: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
};

/** Returns the protocol's error for a problem that has one, and the same error otherwise. */
export function asProtocolError(error: unknown): unknown {
  const Protocol = error instanceof Problem ? ERRORS[error.code] : undefined;
  return Protocol ? new Protocol((error as Problem).message) : error;
}

/** Returns the error of a JSON-RPC response, with the code of a problem that the protocol has no error for. */
export function jsonRpcErrorOf(error: A2AError | Problem) {
  if (error instanceof A2AError) return toJsonRpcError(error);
  if (error.code === 'malformed_json')
    return { code: A2A_ERROR_CODE.PARSE_ERROR, message: error.message, data: [infoOf(error)] };
  const code = error.code === 'internal_error' ? A2A_ERROR_CODE.INTERNAL_ERROR : SERVER_ERROR;
  return { code, message: error.message, data: [infoOf(error)] };
}

/**
 * Returns the HTTP status of a JSON-RPC response with an error: 200 for the protocol's errors, and the problem's own for
 * those that concern the request as such.
 */
export function jsonRpcStatusOf(error: A2AError | Problem): number {
  return error instanceof A2AError || error.code === 'malformed_json' ? 200 : error.status;
}

/** Returns the status and the body of a response of the HTTP+JSON binding (AIP-193). */
export function restErrorOf(error: A2AError | Problem): { status: number; body: unknown } {
  if (error instanceof A2AError) {
    const status = restStatusFor(error);
    return { status, body: toRestErrorBody(error, status) };
  }
  const { status, message } = error;
  const name = STATUS_NAMES[status] ?? 'UNKNOWN';
  return { status, body: { error: { code: status, status: name, message, details: [infoOf(error)] } } };
}

function infoOf({ code }: Problem) {
  return { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: code.toUpperCase(), domain: 'baton' };
}
