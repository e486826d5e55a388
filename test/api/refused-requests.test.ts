import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { useWorld } from '../support/world.ts';

/** Requests that reach no route, because they are not HTTP or too large. */
describe('a request that the HTTP parser refuses', () => {
  const world = useWorld();

  const CASES: [what: string, request: string, status: number, code: string][] = [
    ['no HTTP at all', 'hello\r\n\r\n', 400, 'bad_request'],
    ['an unknown method', 'BREW /api/v1/tasks HTTP/1.1\r\nHost: a\r\n\r\n', 400, 'bad_request'],
    [
      'two lengths',
      'POST /api/v1/events HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      400,
      'bad_request',
    ],
    [
      'headers of 20 KiB',
      `GET /api/v1/tasks HTTP/1.1\r\nHost: a\r\nX-Long: ${'x'.repeat(20_480)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
  ];
  for (const [what, request, status, code] of CASES) {
    it(`gets a problem and a request id: ${what}`, async () => {
      const { hostname, port } = new URL(world.api.url);
      const socket = connect({ host: hostname, port: Number(port) });
      socket.write(request);
      const answer = await text(socket);
      const [head = '', body = ''] = answer.split('\r\n\r\n');
      assert.ok(head.startsWith(`HTTP/1.1 ${status} `), head);
      assert.match(head, /\r\nContent-Type: application\/problem\+json\r\n/);
      assert.match(head, /\r\nX-Content-Type-Options: nosniff\r\n/);
      const problem = JSON.parse(body);
      assert.deepEqual([problem.status, problem.code], [status, code]);
      assert.ok(head.includes(`X-Request-Id: ${problem.request_id}`));
    });
  }
});
