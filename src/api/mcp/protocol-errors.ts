import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from '@modelcontextprotocol/server';
import { asProblem, logFailure } from '../http/error-responses.ts';
import type { McpRequest } from './mcp-request.ts';

/**
 * Returns the error of the protocol for a problem, with the problem as its data: the parameters are wrong, or the service
 * cannot work now. `uri`: the resource that the problem is about.
 */
export function protocolErrorOf(
  { log, requestId }: Pick<McpRequest, 'log' | 'requestId'>,
  error: unknown,
  uri?: string,
): ProtocolError {
  if (error instanceof ProtocolError) return error;
  const problem = asProblem(error);
  logFailure(log, problem, requestId);
  if (uri !== undefined && problem.code === 'not_found') return new ResourceNotFoundError(uri);
  const isOurs = problem.status >= 500 || problem.status === 429;
  const code = isOurs ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams;
  return new ProtocolError(code, problem.message, { code: problem.code, request_id: requestId });
}
