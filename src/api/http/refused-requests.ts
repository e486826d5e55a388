import { randomUUIDv7 } from 'node:crypto';
import type { Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { PROBLEMS, type ProblemCode } from '../../domain/common/problem-codes.ts';
import { Problem, problemBody } from './problem.ts';

/** Problems by the code of Node's error. All other requests are not valid HTTP. */
const CODES: Readonly<Record<string, [ProblemCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The headers must be at most 16 KiB.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request was not complete in time.'],
};
const STATUS_TEXTS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};

/**
 * Responds to requests that the HTTP parser refuses, with a problem and a request id like all others, and closes their
 * connections. No middleware sees them. `headers` are those of every response.
 */
export function answerRefusedRequests(server: Server, headers: Readonly<Record<string, string>>): void {
  const responses = new WeakMap<Duplex, ServerResponse>();
  server.on('request', (request, response) => responses.set(request.socket, response));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    const response = responses.get(socket);
    const hasBegun = response?.headersSent === true && !response.writableFinished;
    // The client has disconnected, or a second response would become part of the one that is being sent.
    if (error.code === 'ECONNRESET' || !socket.writable || hasBegun) return void socket.destroy();
    const [code, detail] = CODES[error.code ?? ''] ?? ['bad_request', 'The request is not valid HTTP/1.1.'];
    // A client that continues to send must not keep the connection.
    socket.end(refusal(new Problem(code, detail), headers), () => socket.destroy());
  });
}

function refusal(problem: Problem, headers: Readonly<Record<string, string>>): string {
  const requestId = randomUUIDv7();
  const body = JSON.stringify(problemBody(problem, '', requestId));
  const { status } = PROBLEMS[problem.code];
  const lines = Object.entries({
    ...headers,
    'Content-Type': 'application/problem+json',
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': requestId,
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_TEXTS[status] ?? ''}\r\n${lines.join('')}\r\n${body}`;
}
