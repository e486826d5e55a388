import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { answerRefusedRequests } from '../../src/api/http/refused-requests.ts';
import { startGateway } from '../../src/gateway/server.ts';
import { listen } from '../../src/runtime/http-server.ts';
import { useWorld } from '../support/world.ts';

/** Requests that reach no route, because they are not valid HTTP or too large. */
describe('a request that the HTTP parser rejects', () => {
  const world = useWorld();

  const CASES: [what: string, request: string, status: number, code: string][] = [
    ['no HTTP', 'hello\r\n\r\n', 400, 'bad_request'],
    ['an unknown method', 'BREW /api/v1/tasks HTTP/1.1\r\nHost: a\r\n\r\n', 400, 'bad_request'],
    [
      'two content lengths',
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
  async function assertRefused(url: string, request: string, status: number, code: string): Promise<void> {
    const { hostname, port } = new URL(url);
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
  }

  for (const [what, request, status, code] of CASES) {
    it(`receives a problem and a request id: ${what}`, async () => {
      await assertRefused(world.api.url, request, status, code);
    });
  }

  it('receives the same from a gateway', async () => {
    const gateway = await startGateway(world.configuration, pino({ level: 'silent' }));
    try {
      for (const [, request, status, code] of CASES) await assertRefused(gateway.url, request, status, code);
    } finally {
      await gateway.close();
    }
  });
});

describe('a request to a process that is starting', () => {
  it('receives a problem', async () => {
    const listening = await listen('127.0.0.1', 0, {});
    try {
      const response = await fetch(`http://127.0.0.1:${listening.port}/api/v1/tasks`);
      assert.equal(response.status, 503);
      assert.equal(response.headers.get('content-type'), 'application/problem+json');
      assert.equal(response.headers.get('retry-after'), '1');
      assert.deepEqual(await response.json(), {
        type: '/problems/unavailable',
        title: 'Service unavailable',
        status: 503,
        detail: 'The service is starting. Try again soon.',
        instance: '/api/v1/tasks',
        code: 'unavailable',
        request_id: response.headers.get('x-request-id'),
      });
    } finally {
      await listening.close();
    }
  });
});

/** Node accepts these targets, but they have no path. */
describe('a request whose target has no readable path', () => {
  const world = useWorld();

  for (const target of ['http://[/api/v1/tasks', 'http://a:b/', '//a@[#b', 'http://?a']) {
    it(`receives a problem, and the process continues: ${target}`, async () => {
      const { hostname, port } = new URL(world.api.url);
      const socket = connect({ host: hostname, port: Number(port) });
      socket.write(`GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
      const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
      assert.ok(head.startsWith('HTTP/1.1 400 '), head);
      const problem = JSON.parse(body);
      assert.deepEqual([problem.status, problem.code], [400, 'bad_request']);
      assert.ok(head.includes(`X-Request-Id: ${problem.request_id}`));
      assert.equal((await world.send('GET', '/health/live')).status, 200);
    });
  }
});

describe('a request that does not end', () => {
  /** Starts a server, sends half of a body, and returns the response. The time limit is over once the request has begun. */
  async function exchange(onRequest: (response: ServerResponse) => void): Promise<string> {
    const server = createServer({ connectionsCheckingInterval: 20 }, (_request, response) => {
      onRequest(response);
      Object.assign(server, { headersTimeout: 1, requestTimeout: 1 });
    });
    answerRefusedRequests(server, {});
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    const [served] = (await once(server, 'connection')) as [Socket];
    const closed = once(served, 'close');
    socket.on('error', () => {});
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => void chunks.push(chunk));
    // The client neither continues nor closes its side.
    await closed;
    socket.destroy();
    server.close();
    return Buffer.concat(chunks).toString();
  }

  it('receives a problem, and its connection is closed even if the client keeps its side open', async () => {
    const answer = await exchange(() => {});
    assert.match(answer, /^HTTP\/1\.1 408 Request Timeout\r\n/);
    assert.match(answer, /"code":"request_timeout"/);
  });

  it('receives no second response if the first one has started', async () => {
    const answer = await exchange((response) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.write(': connected\n\n');
    });
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
    assert.ok(!answer.includes('408'), answer);
  });
});
