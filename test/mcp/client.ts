import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport, type ClientOptions } from '@modelcontextprotocol/client';
import type { Received, Sent, World } from '../support/world.ts';

/** The newest protocol, without sessions, and the one before, with a handshake. */
export const PROTOCOLS = ['2026-07-28', '2025-11-25'] as const;
export type ProtocolVersion = (typeof PROTOCOLS)[number];

type Connection = { protocol?: ProtocolVersion; headers?: Record<string, string>; options?: ClientOptions };

/** Connects a client, with the key of the world by default. */
export async function connect(
  world: { api: { url: string }; installation: { api_key: string } },
  {
    protocol = '2026-07-28',
    headers = { 'X-API-Key': world.installation.api_key },
    options,
  }: Connection = {},
): Promise<Client> {
  const mode = protocol === '2026-07-28' ? { pin: protocol } : 'legacy';
  const client = new Client({ name: 'test', version: '1' }, { ...options, versionNegotiation: { mode } });
  const url = new URL(`${world.api.url}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  return client;
}

/** Sends a message as it is, or `sent.raw`. */
export function post(world: World, message: unknown, sent: Sent = {}): Promise<Received> {
  return world.send('POST', '/mcp', {
    raw: JSON.stringify(message),
    ...sent,
    headers: {
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      ...sent.headers,
    },
  });
}

// oxlint-disable-next-line typescript/no-explicit-any -- tests read results of every shape
type Content = any;

/** Calls a tool that must succeed, and returns its structured content. */
export async function call(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<Content> {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, JSON.stringify(result.content));
  return result.structuredContent;
}

/** Calls a tool that must be refused, and returns the problem. */
export async function refused(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<Content> {
  const result = await client.callTool({ name, arguments: args });
  assert.equal(result.isError, true, JSON.stringify(result.structuredContent));
  assert.equal(result.structuredContent, undefined);
  const [content] = result.content;
  return content?.type === 'text' ? JSON.parse(content.text) : null;
}
