import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Context } from 'koa';
import { pino } from 'pino';
import { accessLog, type CompletedRequest } from '../../src/api/http/access-log.ts';
import { asProblem, errorResponses, logFailure } from '../../src/api/http/error-responses.ts';
import { notFound, nullIfNotFound, Problem, unavailable } from '../../src/api/http/problem.ts';
import { unknownParameter } from '../../src/api/http/validation.ts';
import { ProviderUnreachable } from '../../src/security/tokens.ts';
import { EngineUnavailable } from '../../src/temporal/task-control.ts';

const ID = '0199c2a4-5b7e-7a31-9a54-3f0c8b1d2e6f';

/** Returns a log and its lines. */
function recordedLog() {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { lines, log };
}

describe('the response to an error', () => {
  it('is a problem with its headers and errors, which may not be cached', async () => {
    const { lines, log } = recordedLog();
    const headers: Record<string, string> = {};
    const context = {
      path: '/api/v1/tasks',
      state: { requestId: 'request-1' },
      set: (name: string | Record<string, string>, value = '') =>
        void Object.assign(headers, typeof name === 'string' ? { [name]: value } : name),
    } as unknown as Context;
    const errors = [{ pointer: '/a', code: 'required', message: '`a` is required.' }] as const;
    const problem = new Problem('validation_failed', 'Wrong.', {
      headers: { 'X-Own': '1' },
      errors: [...errors],
    });
    await errorResponses(log)(context, () => Promise.reject(problem));
    assert.deepEqual([context.status, context.type], [422, 'application/problem+json']);
    assert.deepEqual(headers, { 'X-Own': '1', 'Cache-Control': 'no-store' });
    assert.deepEqual(JSON.parse(String(context.body)), {
      type: '/problems/validation_failed',
      title: 'Validation failed',
      status: 422,
      detail: 'Wrong.',
      instance: '/api/v1/tasks',
      code: 'validation_failed',
      request_id: 'request-1',
      errors,
    });
    assert.deepEqual(lines, [], 'an error of the caller is not logged');
    await errorResponses(log)(context, () => Promise.reject(new Error('the secret reason')));
    assert.equal(context.status, 500);
    assert.ok(!String(context.body).includes('secret') && !('errors' in JSON.parse(String(context.body))));
    assert.match(JSON.stringify(lines), /the secret reason/);
  });

  it('names the service that is unavailable, and when to try again', () => {
    const refused = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });
    for (const [error, name] of [
      [new EngineUnavailable('no response'), 'Temporal'],
      [new ProviderUnreachable('no response'), 'The identity provider'],
      [refused, 'PostgreSQL'],
    ] as const) {
      const problem = asProblem(error);
      assert.equal(problem.message, `${name} is unavailable. Nothing was accepted. Try again soon.`);
      assert.deepEqual(
        [problem.code, problem.status, problem.headers],
        ['unavailable', 503, { 'Retry-After': '2' }],
      );
      assert.equal(problem.cause, error);
    }
    const defect = new Error('a defect');
    const internal = asProblem(defect);
    assert.deepEqual([internal.code, internal.cause], ['internal_error', defect]);
    const own = notFound('task');
    assert.equal(asProblem(own), own);
  });

  it('is logged with its cause if the service is responsible', () => {
    const { lines, log } = recordedLog();
    logFailure(log, new Problem('headers_too_large', 'No.'), 'r0');
    logFailure(log, new Problem('internal_error', 'Without a cause.'), 'r1');
    logFailure(log, unavailable('Temporal', new Error('the cause')), 'r2');
    assert.deepEqual(
      lines.map((line) => [line['level'], line['msg'], line['request_id'], (line['err'] as Error).message]),
      [
        [50, 'request failed', 'r1', 'Without a cause.'],
        [50, 'request failed', 'r2', 'the cause'],
      ],
    );
  });

  it('is null for work that finds nothing', async () => {
    assert.equal(await nullIfNotFound(async () => await Promise.reject(notFound('task'))), null);
    assert.equal(await nullIfNotFound(async () => await Promise.resolve(1)), 1);
    const forbidden = new Problem('forbidden', 'No.');
    await assert.rejects(
      nullIfNotFound(async () => await Promise.reject(forbidden)),
      forbidden,
    );
  });

  it('names an unknown parameter', () => {
    const message = '`colour` is not a known parameter.';
    const problem = unknownParameter('colour');
    assert.deepEqual(
      [problem.code, problem.message, problem.errors],
      [
        'bad_request',
        `1 error in the query: ${message}`,
        [{ parameter: 'colour', code: 'unknown_member', message }],
      ],
    );
  });
});

describe('the access log', () => {
  /** Returns the line and the record of a request. */
  async function logged(
    path: string,
    { status = 200, location = '', state = {} }: { status?: number; location?: string; state?: object } = {},
  ) {
    const { lines, log } = recordedLog();
    const completed: CompletedRequest[] = [];
    const res = Object.assign(new EventEmitter(), { statusCode: status, writableFinished: true });
    const context = {
      method: 'POST',
      path,
      ip: '192.0.2.1',
      res,
      response: { get: () => location },
      state: { requestId: 'request-1', route: '/a/{id}', caller: { label: 'key:bt_1' }, ...state },
    } as unknown as Context;
    await accessLog(log, (answered) => void completed.push(answered))(context, async () => {});
    assert.equal(lines.length, 0, 'it is not complete');
    res.emit('close');
    const [first] = lines;
    const [one] = completed;
    assert.ok(first && one);
    const { level, time: _time, pid: _pid, hostname: _hostname, duration_ms: ms, ...line } = first;
    assert.ok(Number.isInteger(ms));
    const { seconds, ...record } = one;
    assert.ok(seconds >= 0 && seconds < 60);
    return { level, line, record };
  }

  it('has a line for each completed request, without its query and headers', async () => {
    const trace = { traceId: 'trace-1', traceparent: '' };
    const { level, line, record } = await logged(`/api/v1/tasks/${ID}/pause`, {
      status: 202,
      state: { trace },
    });
    assert.equal(level, 30);
    assert.deepEqual(line, {
      request_id: 'request-1',
      trace_id: 'trace-1',
      method: 'POST',
      path: `/api/v1/tasks/${ID}/pause`,
      route: '/a/{id}',
      execution_id: ID,
      status: 202,
      finished: true,
      caller: 'key:bt_1',
      address: '192.0.2.1',
      msg: 'request',
    });
    assert.deepEqual(record, { method: 'POST', route: '/a/{id}', status: 202 });
    assert.equal((await logged('/nothing', { state: { route: undefined } })).record.route, null);
  });

  it('names the requested or the created resource, also of a call within the request', async () => {
    const idsIn = async (...given: Parameters<typeof logged>) => {
      const { line } = await logged(...given);
      const { operation, execution_id, webhook_id, delivery_id } = line;
      return { operation, execution_id, webhook_id, delivery_id };
    };
    const none = {
      operation: undefined,
      execution_id: undefined,
      webhook_id: undefined,
      delivery_id: undefined,
    };
    assert.deepEqual(await idsIn(`/api/v1/webhooks/${ID}`), { ...none, webhook_id: ID });
    assert.deepEqual(await idsIn(`/api/v1/deliveries/${ID}`), { ...none, delivery_id: ID });
    for (const path of [
      `/api/v1/keys/${ID}`,
      `/api/v1/tasks/${ID}0`,
      `/x/api/v1/tasks/${ID}`,
      '/api/v1/tasks',
    ])
      assert.deepEqual(await idsIn(path), none, path);
    const location = `https://baton.example/api/v1/tasks/${ID}`;
    assert.deepEqual(await idsIn('/api/v1/tasks', { location }), { ...none, execution_id: ID });
    const invoked = { operation: 'submitTask', path: '/api/v1/tasks', made: location };
    assert.deepEqual(await idsIn('/mcp', { state: { invoked } }), {
      ...none,
      operation: 'submitTask',
      execution_id: ID,
    });
    const read = { operation: 'readWebhook', path: `/api/v1/webhooks/${ID}` };
    assert.deepEqual(await idsIn('/mcp', { location, state: { invoked: read } }), {
      ...none,
      operation: 'readWebhook',
      webhook_id: ID,
    });
  });

  it('is quiet about successful health checks', async () => {
    const levelOf = async (path: string, status: number) => (await logged(path, { status })).level;
    assert.equal(await levelOf('/health/live', 200), 20);
    assert.equal(await levelOf('/health/ready', 399), 20);
    assert.equal(await levelOf('/health/ready', 400), 30);
    assert.equal(await levelOf('/healthy', 200), 30);
  });
});
