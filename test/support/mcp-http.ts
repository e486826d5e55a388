import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A small MCP server over streamable HTTP on loopback, with sessions. */
export type HttpMcpServer = {
  url: string;
  requests: number;
  authorizations: Set<string>;
  /** The `traceparent` in `_meta` of each tool call; undefined without one. */
  traces: unknown[];
  /** The JSON-RPC error that answers an `initialize`; null: none. */
  initializeError: { status: number; code: number; message: string } | null;
  /** Invalidates every session, as a restart would. */
  forgetSessions(): void;
  close(): Promise<void>;
};

type Message = {
  id?: number;
  method: string;
  params?: { arguments?: { a: number; b: number }; _meta?: { traceparent?: string } };
};

/** `refuse`: the text of a 401 for every request. */
export async function startHttpMcpServer({ refuse }: { refuse?: string } = {}): Promise<HttpMcpServer> {
  const sessions = new Set<string>();
  const authorizations = new Set<string>();
  const http = createServer((request, response) => void serve(request, response));
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const server: HttpMcpServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    requests: 0,
    authorizations,
    traces: [],
    initializeError: null,
    forgetSessions: () => sessions.clear(),
    async close() {
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
  return server;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    server.requests += 1;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.headers.authorization) authorizations.add(request.headers.authorization);
    if (refuse !== undefined) return void response.writeHead(401).end(refuse);
    if (request.method !== 'POST')
      return void response.writeHead(request.method === 'DELETE' ? 204 : 405).end();
    const message = JSON.parse(Buffer.concat(chunks).toString()) as Message;
    const session = request.headers['mcp-session-id'];
    if (message.method === 'initialize') {
      const { initializeError: error } = server;
      return error ? json(response, { id: message.id, error }, error.status) : open(message, response);
    }
    if (message.method === 'server/discover') {
      return json(response, { id: message.id, error: { code: -32601, message: 'no such method' } });
    }
    if (typeof session !== 'string' || !sessions.has(session)) return void response.writeHead(404).end();
    if (message.id === undefined) return void response.writeHead(202).end();
    if (message.method === 'tools/call') server.traces.push(message.params?._meta?.traceparent);
    json(response, { id: message.id, result: resultOf(message) });
  }

  function open({ id }: Message, response: ServerResponse): void {
    const session = randomUUID();
    sessions.add(session);
    response.setHeader('mcp-session-id', session);
    const serverInfo = { name: 'small', version: '1' };
    json(response, {
      id,
      result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo },
    });
  }
}

function resultOf({ method, params }: Message): unknown {
  if (method === 'tools/list') {
    return { tools: [{ name: 'add', description: 'Adds two numbers', inputSchema: { type: 'object' } }] };
  }
  const { a = 0, b = 0 } = params?.arguments ?? {};
  return { content: [{ type: 'text', text: String(a + b) }] };
}

function json(response: ServerResponse, message: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
}
