import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { assertProblem } from './problems.ts';
import { type Sent, type World, useWorld } from '../support/world.ts';

type Case = {
  title: string;
  status: number;
  code: string;
  /** Pointers of `errors`, with their codes. */
  errors?: Record<string, string>;
  sent: (world: World) => Sent;
};

/** A submission that would be fine, but for `members`. */
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
const rehearsal = (value: unknown) => body({ metadata: { rehearsal: value } });
const callback = (url: unknown) => body({ callback_url: url });

const CASES: Case[] = [
  {
    title: 'no title',
    status: 422,
    code: 'validation_failed',
    errors: { '/title': 'required' },
    sent: body({ title: undefined }),
  },
  {
    title: 'a blank title',
    status: 422,
    code: 'validation_failed',
    errors: { '/title': 'blank' },
    sent: body({ title: ' \t' }),
  },
  {
    title: 'an empty title',
    status: 422,
    code: 'validation_failed',
    errors: { '/title': 'too_short' },
    sent: body({ title: '' }),
  },
  {
    title: 'a title of 201 characters',
    status: 422,
    code: 'validation_failed',
    errors: { '/title': 'too_long' },
    sent: body({ title: 'é'.repeat(201) }),
  },
  {
    title: 'a title that is a number',
    status: 422,
    code: 'validation_failed',
    errors: { '/title': 'wrong_type' },
    sent: body({ title: 7 }),
  },
  {
    title: 'a title that is null',
    status: 422,
    code: 'validation_failed',
    errors: { '/title': 'wrong_type' },
    sent: body({ title: null }),
  },
  {
    title: 'a title with NUL',
    status: 422,
    code: 'validation_failed',
    errors: { '/title': 'not_storable' },
    sent: body({ title: 'a\u0000b' }),
  },
  {
    title: 'half a surrogate pair',
    status: 422,
    code: 'validation_failed',
    errors: { '/title': 'not_storable' },
    sent: body({ title: 'a\ud800' }),
  },
  {
    title: 'a description of 100,001 characters',
    status: 422,
    code: 'validation_failed',
    errors: { '/description': 'too_long' },
    sent: body({ description: 'x'.repeat(100_001) }),
  },
  {
    title: 'no project_id',
    status: 422,
    code: 'validation_failed',
    errors: { '/project_id': 'required' },
    sent: body({ project_id: undefined }),
  },
  {
    title: 'a project_id that is no UUID',
    status: 422,
    code: 'validation_failed',
    errors: { '/project_id': 'invalid_format' },
    sent: body({ project_id: 'x' }),
  },
  {
    title: 'an unknown project',
    status: 403,
    code: 'project_not_allowed',
    sent: body({ project_id: randomUUID() }),
  },
  {
    title: 'an unknown task_type',
    status: 422,
    code: 'validation_failed',
    errors: { '/task_type': 'not_allowed' },
    sent: body({ task_type: 'epic' }),
  },
  {
    title: 'an http:// callback',
    status: 422,
    code: 'validation_failed',
    errors: { '/callback_url': 'not_https' },
    sent: callback('http://example.com/'),
  },
  {
    title: 'an HTTPS:// callback in capitals',
    status: 422,
    code: 'validation_failed',
    errors: { '/callback_url': 'not_https' },
    sent: callback('HTTPS://example.com/'),
  },
  {
    title: 'a callback without a host',
    status: 422,
    code: 'validation_failed',
    errors: { '/callback_url': 'invalid_format' },
    sent: callback('https://'),
  },
  {
    title: 'a callback with credentials',
    status: 422,
    code: 'validation_failed',
    errors: { '/callback_url': 'invalid_format' },
    sent: callback('https://user:pass@example.com/'),
  },
  {
    title: 'a callback with a fragment',
    status: 422,
    code: 'validation_failed',
    errors: { '/callback_url': 'invalid_format' },
    sent: callback('https://example.com/#top'),
  },
  {
    title: 'a callback with a line break',
    status: 422,
    code: 'validation_failed',
    errors: { '/callback_url': 'invalid_format' },
    sent: callback('https://example.com/a\nb'),
  },
  {
    title: 'a callback of 2,049 characters',
    status: 422,
    code: 'validation_failed',
    errors: { '/callback_url': 'too_long' },
    sent: callback(`https://example.com/${'x'.repeat(2_029)}`),
  },
  {
    title: 'a callback that is null',
    status: 422,
    code: 'validation_failed',
    errors: { '/callback_url': 'wrong_type' },
    sent: callback(null),
  },
  {
    title: 'metadata that is a list',
    status: 422,
    code: 'validation_failed',
    errors: { '/metadata': 'wrong_type' },
    sent: body({ metadata: [] }),
  },
  {
    title: 'metadata of more than 16 KiB',
    status: 422,
    code: 'validation_failed',
    errors: { '/metadata': 'too_large' },
    sent: body({ metadata: { a: 'x'.repeat(16_384) } }),
  },
  {
    title: 'metadata with NUL in a name',
    status: 422,
    code: 'validation_failed',
    errors: { '/metadata': 'not_storable' },
    sent: body({ metadata: { 'a\u0000': 1 } }),
  },
  {
    title: 'metadata too deep',
    status: 422,
    code: 'validation_failed',
    errors: { '/metadata': 'too_deep' },
    sent: body({ metadata: { a: nested(70) } }),
  },
  {
    title: 'a number that would change',
    status: 422,
    code: 'validation_failed',
    errors: { '/metadata': 'number_not_exact' },
    sent: (world) =>
      raw(
        `{"title":"x","project_id":"${world.installation.project_id}","metadata":{"id":9007199254740993}}`,
      )(),
  },
  {
    title: 'a rehearsal with an unknown member',
    status: 422,
    code: 'validation_failed',
    errors: { '/metadata/rehearsal/speed': 'unknown_member' },
    sent: rehearsal({ speed: 1 }),
  },
  {
    title: 'a rehearsal with wrong values',
    status: 422,
    code: 'validation_failed',
    errors: {
      '/metadata/rehearsal/steps': 'too_large',
      '/metadata/rehearsal/step_ms': 'wrong_type',
      '/metadata/rehearsal/fail/times': 'required',
    },
    sent: rehearsal({ steps: 51, step_ms: '1', fail: { step: 1 } }),
  },
  {
    title: 'a rehearsal that is null',
    status: 422,
    code: 'validation_failed',
    errors: { '/metadata/rehearsal': 'wrong_type' },
    sent: rehearsal(null),
  },
  {
    title: 'unknown members, all of them named',
    status: 422,
    code: 'validation_failed',
    errors: { '/titel': 'unknown_member', '/a~1b~0': 'unknown_member', '/__proto__': 'unknown_member' },
    sent: (world) =>
      raw(
        `{"title":"x","titel":1,"a/b~":2,"__proto__":{"x":1},"project_id":"${world.installation.project_id}"}`,
      )(),
  },
  {
    title: 'several things at once',
    status: 422,
    code: 'validation_failed',
    errors: {
      '/title': 'required',
      '/project_id': 'invalid_format',
      '/callback_url': 'not_https',
      '/metadata': 'wrong_type',
      '/more': 'unknown_member',
    },
    sent: body({ title: undefined, project_id: '1', callback_url: 'ftp://x', metadata: 1, more: true }),
  },
  {
    title: 'a list instead of an object',
    status: 422,
    code: 'validation_failed',
    errors: { '': 'wrong_type' },
    sent: raw('[]'),
  },
  { title: 'broken JSON', status: 400, code: 'malformed_json', sent: raw('{"title":') },
  {
    title: 'invalid UTF-8',
    status: 400,
    code: 'malformed_json',
    sent: raw(new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])),
  },
  { title: 'an empty body', status: 400, code: 'malformed_json', sent: raw('') },
  {
    title: 'a form',
    status: 415,
    code: 'unsupported_media_type',
    sent: raw('title=x', 'application/x-www-form-urlencoded'),
  },
  { title: 'plain text', status: 415, code: 'unsupported_media_type', sent: raw('{}', 'text/plain') },
  {
    title: 'another charset',
    status: 415,
    code: 'unsupported_media_type',
    sent: raw('{}', 'application/json; charset=latin1'),
  },
  {
    title: 'a compressed body',
    status: 415,
    code: 'unsupported_media_type',
    sent: () => ({ raw: '{}', headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' } }),
  },
  {
    title: 'a body of 1 MiB and a byte',
    status: 413,
    code: 'payload_too_large',
    sent: raw(' '.repeat(1_048_577)),
  },
  {
    title: 'an answer nobody makes',
    status: 406,
    code: 'not_acceptable',
    sent: (world) => ({ ...body({})(world), headers: { Accept: 'text/html' } }),
  },
  {
    title: 'an idempotency key that is too long',
    status: 400,
    code: 'bad_request',
    sent: (world) => ({ ...body({})(world), headers: { 'Idempotency-Key': 'x'.repeat(256) } }),
  },
];

describe('refused submissions', () => {
  const world = useWorld();

  for (const { title, status, code, errors, sent } of CASES) {
    it(`answers ${status} ${code} to ${title}`, async () => {
      const received = await world.send('POST', '/api/v1/tasks', sent(world));
      assertProblem(received, status, code);
      const found = received.json.errors?.map((entry: { pointer: string; code: string }) => [
        entry.pointer,
        entry.code,
      ]);
      assert.deepEqual(found && Object.fromEntries(found), errors);
    });
  }

  it('accepts what is just within the limits', async () => {
    const { status } = await world.submit({
      title: '😀'.repeat(200),
      description: 'x'.repeat(100_000),
      callback_url: `https://example.com/${'x'.repeat(2_028)}`,
      metadata: { a: 'x'.repeat(16_384 - 8) },
    });
    assert.equal(status, 201);
  });

  it('closes the connection behind a body that is too large, and is still answered when it has no end', async () => {
    const { status, connection } = await endlessBody(world);
    assert.equal(status, 413);
    assert.equal(connection, 'close');
  });

  it('leaves nothing behind of what it refused', async () => {
    const { json } = await world.send('GET', '/api/v1/tasks');
    assert.equal(json.data.length, 1, 'only the accepted one');
  });
});

describe('refused requests', () => {
  const world = useWorld();

  it('answers 404 to an unknown run, an id that is no UUID, and an unknown address', async () => {
    for (const path of [
      `/api/v1/tasks/${randomUUID()}`,
      '/api/v1/tasks/x',
      '/api/v1/tasks/%ff',
      '/api/v2/tasks',
      '/API/v1/tasks',
    ]) {
      assertProblem(await world.send('GET', path), 404, 'not_found');
    }
    for (const wish of ['pause', 'continue', 'cancel']) {
      assertProblem(await world.send('POST', `/api/v1/tasks/${randomUUID()}/${wish}`), 404, 'not_found');
    }
    assertProblem(await world.send('DELETE', `/api/v1/tasks/${randomUUID()}`), 404, 'not_found');
  });

  it('answers 405 with the methods that are allowed', async () => {
    const received = await world.send('PUT', '/api/v1/tasks');
    assertProblem(received, 405, 'method_not_allowed');
    assert.equal(received.headers.get('allow'), 'GET, HEAD, OPTIONS, POST');
    const options = await world.send('OPTIONS', '/api/v1/tasks');
    assert.equal(options.status, 204);
    assert.equal(options.headers.get('allow'), 'GET, HEAD, OPTIONS, POST');
  });

  it('answers 400 to query parameters that are wrong or unknown, naming them', async () => {
    const { json, ...received } = await world.send(
      'GET',
      '/api/v1/tasks?limit=0&state=done&cursor=x&created_after=today&stat=1',
    );
    assertProblem({ ...received, json }, 400, 'bad_request');
    const named = json.errors.map((entry: { parameter: string }) => entry.parameter).toSorted();
    assert.deepEqual(named, ['created_after', 'cursor', 'limit', 'stat', 'state']);
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

function nested(levels: number): unknown {
  return levels === 0 ? 1 : [nested(levels - 1)];
}

/** Sends a body that never ends, until the answer is there. */
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
