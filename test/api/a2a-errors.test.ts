import assert from 'node:assert/strict';
import { A2AError, TaskNotFoundError } from '@a2a-js/sdk/errors';
import { asProtocolError, jsonRpcErrorOf, jsonRpcStatusOf, restErrorOf } from '../../src/api/a2a/errors.ts';
import { Problem } from '../../src/api/http/problem.ts';
import { PROBLEMS, type ProblemCode } from '../../src/domain/common/problem-codes.ts';

/** For each problem: the protocol's error and its code, or the code of JSON-RPC and the name of the status over HTTP. */
const EXPECTED: Record<ProblemCode, [name: string, code: number] | [code: number, status: string]> = {
  malformed_json: [-32_700, 'INVALID_ARGUMENT'],
  bad_request: ['RequestMalformedError', -32_602],
  unauthenticated: [-32_000, 'UNAUTHENTICATED'],
  project_not_allowed: ['RequestMalformedError', -32_602],
  forbidden: [-32_000, 'PERMISSION_DENIED'],
  not_found: ['TaskNotFoundError', -32_001],
  method_not_allowed: [-32_000, 'UNIMPLEMENTED'],
  not_acceptable: [-32_000, 'UNKNOWN'],
  request_timeout: [-32_000, 'UNKNOWN'],
  invalid_state: ['UnsupportedOperationError', -32_004],
  conflict: [-32_000, 'ABORTED'],
  payload_too_large: [-32_000, 'INVALID_ARGUMENT'],
  unsupported_media_type: ['ContentTypeNotSupportedError', -32_005],
  validation_failed: ['RequestMalformedError', -32_602],
  idempotency_key_reused: ['RequestMalformedError', -32_602],
  rate_limited: [-32_000, 'RESOURCE_EXHAUSTED'],
  headers_too_large: [-32_000, 'UNKNOWN'],
  internal_error: [-32_603, 'INTERNAL'],
  unavailable: [-32_000, 'UNAVAILABLE'],
};

describe('an error over A2A', () => {
  for (const [code, [first, second]] of Object.entries(EXPECTED)) {
    const problem = new Problem(code as ProblemCode, `It is ${code}.`);
    const { message } = problem;
    const { status } = PROBLEMS[code as ProblemCode];
    const found = asProtocolError(problem);

    if (typeof first === 'string') {
      it(`is the protocol's for ${code}`, () => {
        assert.ok(found instanceof A2AError);
        assert.deepEqual([found.name, found.message], [first, message]);
        assert.deepEqual([jsonRpcErrorOf(found).code, jsonRpcErrorOf(found).message], [second, message]);
        assert.equal(jsonRpcStatusOf(found), 200);
      });
      continue;
    }
    it(`is the problem itself for ${code}`, () => {
      assert.equal(found, problem);
      const info = {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: code.toUpperCase(),
        domain: 'baton',
      };
      assert.deepEqual(jsonRpcErrorOf(problem), { code: first, message, data: [info] });
      assert.equal(jsonRpcStatusOf(problem), code === 'malformed_json' ? 200 : status);
      assert.deepEqual(restErrorOf(problem), {
        status,
        body: { error: { code: status, status: second, message, details: [info] } },
      });
    });
  }

  it('has the status and the reason of the protocol over HTTP', () => {
    const { status, body } = restErrorOf(new TaskNotFoundError('No task.'));
    const { error } = body as { error: { code: number; message: string; details: { reason: string }[] } };
    assert.deepEqual([status, error.code, error.message], [404, 404, 'No task.']);
    assert.equal(error.details[0]?.reason, 'TASK_NOT_FOUND');
  });

  it('is unchanged if it is no problem', () => {
    const error = new Error('broken');
    assert.equal(asProtocolError(error), error);
  });
});
