import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { assertProblem } from './problems.ts';
import { type Sent, type World, useWorld } from '../support/world.ts';

/** Pointers of `errors`, with their codes. */
type Errors = Record<string, string>;
type Case = [
  title: string,
  sent: (world: World) => Sent,
  /** 422 `validation_failed` with these errors, or another status and code. */
  answer: Errors | [status: number, code: string, errors?: undefined],
];

/** Returns a valid submission with these members. */
const body =
  (members: Record<string, unknown>) =>
  (world: World): Sent => ({
    body: { title: 'A task', project_id: world.installation.project_id, ...members },
  });
const raw =
  (text: string | Uint8Array<ArrayBuffer>, type = 'application/json') =>
  (): Sent => ({
    raw: text,
    headers: { 'Content-Type': type },
  });
const callback = (url: unknown) => body({ callback_url: url });

/** test/domain/submission.test.ts and test/domain/urls.test.ts have all errors of the members. */
const CASES: Case[] = [
  ['an unknown project', body({ project_id: randomUUID() }), [403, 'project_not_allowed']],
  [
    'a callback to a private IPv4 address',
    callback('https://10.0.0.5/x'),
    { '/callback_url': 'not_allowed' },
  ],
  [
    'a callback to a link-local IPv6 address',
    callback('https://[fe80::1]/'),
    { '/callback_url': 'not_allowed' },
  ],
  [
    'a number that is not represented exactly',
    (world) =>
      raw(
        `{"title":"x","project_id":"${world.installation.project_id}","metadata":{"id":9007199254740993}}`,
      )(),
    { '/metadata': 'number_not_exact' },
  ],
  [
    'several unknown members',
    (world) =>
      raw(
        `{"title":"x","titel":1,"a/b~":2,"__proto__":{"x":1},"project_id":"${world.installation.project_id}"}`,
      )(),
    { '/titel': 'unknown_member', '/a~1b~0': 'unknown_member', '/__proto__': 'unknown_member' },
  ],
  [
    'several errors at once',
    body({ title: undefined, project_id: '1', metadata: { rehearsal: { steps: 51 } }, more: true }),
    {
      '/title': 'required',
      '/project_id': 'invalid_format',
      '/metadata/rehearsal/steps': 'too_large',
      '/more': 'unknown_member',
    },
  ],
  ['a list instead of an object', raw('[]'), { '': 'wrong_type' }],
  ['broken JSON', raw('{"title":'), [400, 'malformed_json']],
  ['invalid UTF-8', raw(new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])), [400, 'malformed_json']],
  ['an empty body', raw(''), [400, 'malformed_json']],
  ['a form', raw('title=x', 'application/x-www-form-urlencoded'), [415, 'unsupported_media_type']],
  ['plain text', raw('{}', 'text/plain'), [415, 'unsupported_media_type']],
  ['another charset', raw('{}', 'application/json; charset=latin1'), [415, 'unsupported_media_type']],
  [
    'a compressed body',
    () => ({ raw: '{}', headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' } }),
    [415, 'unsupported_media_type'],
  ],
  ['a body of 1 MiB and a byte', raw(' '.repeat(1_048_577)), [413, 'payload_too_large']],
  [
    'an unsupported Accept header',
    (world) => ({ ...body({})(world), headers: { Accept: 'text/html' } }),
    [406, 'not_acceptable'],
  ],
  [
    'an idempotency key that is too long',
    (world) => ({ ...body({})(world), headers: { 'Idempotency-Key': 'x'.repeat(256) } }),
    [400, 'bad_request'],
  ],
];

describe('POST /api/v1/tasks', () => {
  const world = useWorld();

  for (const [title, sent, answer] of CASES) {
    const [status, code, errors] = Array.isArray(answer) ? answer : [422, 'validation_failed', answer];
    it(`returns ${status} ${code} for ${title}`, async () => {
      const received = await world.send('POST', '/api/v1/tasks', sent(world));
      assertProblem(received, status, code);
      const found = received.json.errors?.map((entry: { pointer: string; code: string }) => [
        entry.pointer,
        entry.code,
      ]);
      assert.deepEqual(found && Object.fromEntries(found), errors);
      for (const { pointer, message } of received.json.errors ?? [])
        assert.match(message, pointer === '' ? /^The body / : /^`[^`]+` .*\.$/);
    });
  }

  it('accepts values at the limits', async () => {
    const { status } = await world.submit({
      title: '😀'.repeat(200),
      description: 'x'.repeat(100_000),
      callback_url: `https://example.com/${'x'.repeat(2_028)}`,
      metadata: { a: 'x'.repeat(16_384 - 8) },
    });
    assert.equal(status, 201);
  });

  it('returns 413 for an endless body, and closes the connection', async () => {
    const { status, connection } = await endlessBody(world);
    assert.equal(status, 413);
    assert.equal(connection, 'close');
  });

  it('stores nothing of rejected submissions', async () => {
    const { json } = await world.send('GET', '/api/v1/tasks');
    assert.equal(json.data.length, 1, 'only the accepted task is stored');
  });
});

describe('the API', () => {
  const world = useWorld();

  it('returns 404 for an unknown run, an invalid id and an unknown path', async () => {
    for (const path of [
      `/api/v1/tasks/${randomUUID()}`,
      '/api/v1/tasks/x',
      '/api/v1/tasks/%ff',
      '/api/v2/tasks',
      '/API/v1/tasks',
    ]) {
      assertProblem(await world.send('GET', path), 404, 'not_found');
    }
    for (const action of ['pause', 'continue', 'cancel']) {
      assertProblem(await world.send('POST', `/api/v1/tasks/${randomUUID()}/${action}`), 404, 'not_found');
    }
    assertProblem(await world.send('DELETE', `/api/v1/tasks/${randomUUID()}`), 404, 'not_found');
  });

  it('returns 405 with the allowed methods', async () => {
    const received = await world.send('PUT', '/api/v1/tasks');
    assertProblem(received, 405, 'method_not_allowed');
    assert.equal(received.headers.get('allow'), 'GET, HEAD, OPTIONS, POST');
    const options = await world.send('OPTIONS', '/api/v1/tasks');
    assert.equal(options.status, 204);
    assert.equal(options.headers.get('allow'), 'GET, HEAD, OPTIONS, POST');
  });

  it('returns 400 with the names of invalid and unknown query parameters', async () => {
    const { json, ...received } = await world.send(
      'GET',
      '/api/v1/tasks?limit=0&state=done&cursor=x&created_after=today&stat=1',
    );
    assertProblem({ ...received, json }, 400, 'bad_request');
    const named = json.errors.map((entry: { parameter: string }) => entry.parameter).toSorted();
    assert.deepEqual(named, ['created_after', 'cursor', 'limit', 'stat', 'state']);
    for (const path of ['tasks', 'webhooks']) {
      const { json: unknown, ...rest } = await world.send('GET', `/api/v1/${path}?__proto__=1`);
      assertProblem({ ...rest, json: unknown }, 400, 'bad_request');
      const message = '`__proto__` is not a known parameter.';
      assert.deepEqual(unknown.errors, [{ parameter: '__proto__', code: 'unknown_member', message }]);
    }
    for (const query of ['limit=201', 'limit=1e2', 'limit=1&limit=2', 'limit=']) {
      assertProblem(await world.send('GET', `/api/v1/tasks?${query}`), 400, 'bad_request');
    }
    assertProblem(
      await world.send('GET', `/api/v1/tasks/${randomUUID()}/events?after=-1`),
      400,
      'bad_request',
    );
  });
});

/** Sends an endless body until there is a response. */
function endlessBody(world: World): Promise<{ status: number | undefined; connection: string | undefined }> {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number | undefined;
    connection: string | undefined;
  }>();
  const request = httpRequest(`${world.api.url}/api/v1/tasks`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-API-Key': world.installation.api_key },
  });
  const chunk = Buffer.alloc(65_536, ' ');
  let isOver = false;
  const more = () => {
    if (!isOver) request.write(chunk, () => setImmediate(more));
  };
  request.on('error', (error) => (isOver ? undefined : reject(error)));
  request.on('response', (response) => {
    isOver = true;
    response.resume();
    resolve({ status: response.statusCode, connection: response.headers.connection });
    request.destroy();
  });
  more();
  return promise;
}
