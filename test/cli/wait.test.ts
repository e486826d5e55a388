import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createApi } from '../../cli/http.ts';
import type { Output } from '../../cli/output.ts';
import { waitForEnd } from '../../cli/wait.ts';

type Answer = { status: number; body: object; headers?: Record<string, string> };

const LIMITED = { code: 'rate_limited', detail: 'Too many requests.' };

describe('waiting for the end of a run', () => {
  let server: Server;
  let answers: Answer[];
  let askedAt: number[];
  const notes: string[] = [];
  const output = { note: (text: string) => void notes.push(text) } as Output;

  beforeEach(async () => {
    askedAt = [];
    notes.length = 0;
    server = createServer((_request, response) => {
      askedAt.push(performance.now());
      const { status, body, headers = {} } = answers.shift() ?? { status: 200, body: { state: 'completed' } };
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify(body));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => server.close());

  const end = async (patienceMs?: number) => {
    const { port } = server.address() as AddressInfo;
    const api = createApi(`http://127.0.0.1:${port}`, { kind: 'key', key: 'bt_key' });
    return await waitForEnd(api, output, 'run', patienceMs);
  };

  it('continues after the time that the server states if it limits the rate of requests', async () => {
    answers = [
      { status: 200, body: { state: 'executing' } },
      { status: 429, body: LIMITED, headers: { 'retry-after': '1' } },
      { status: 429, body: LIMITED },
    ];
    assert.equal((await end(0)).state, 'completed');
    const [, second = 0, third = 0, fourth = 0] = askedAt;
    // A timer of a second may fire a millisecond early.
    assert.ok(third - second >= 990 && fourth - third >= 990, `asked at ${askedAt.join(', ')}`);
    assert.deepEqual(notes, []);
  });

  it('continues while the server fails, until it has not answered for too long', async () => {
    answers = [{ status: 503, body: { detail: 'Starting.' } }];
    assert.equal((await end()).state, 'completed');
    assert.deepEqual(notes, ['Starting.; retrying']);
    answers = [{ status: 503, body: { detail: 'Starting.' } }];
    await assert.rejects(end(0), { exitCode: 6, message: 'Starting.' });
  });

  it('ends if the server refuses the request', async () => {
    answers = [{ status: 404, body: { detail: 'No such run.', code: 'not_found' } }];
    await assert.rejects(end(), { exitCode: 5, message: 'No such run. (not_found)' });
  });
});
