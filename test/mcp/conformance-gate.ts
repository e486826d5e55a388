import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import type { World } from '../support/world.ts';

type Call = { params?: { name?: string; arguments?: Record<string, unknown> } };

const rehearsal = (title: string, plan: object) => ({
  name: 'submit_task',
  arguments: { title, metadata: { rehearsal: { steps: 1, ...plan } } },
});

/** Tools that the scenarios of tasks call, as calls of our tools. */
const TOOLS: Readonly<Record<string, (args: Record<string, unknown>) => object>> = {
  greet: () => ({ name: 'list_tasks', arguments: { limit: 1 } }),
  slow_compute: ({ seconds, label }) =>
    rehearsal(typeof label === 'string' ? label : 'A task', { step_ms: Number(seconds ?? 0) * 1_000 }),
  failing_job: () => rehearsal('Fails', { unrecoverable: { step: 1 } }),
  confirm_delete: ({ filename }) =>
    rehearsal('Asks', { ask: { step: 1, question: `Delete ${JSON.stringify(filename)}?` } }),
};

/**
 * Starts a server in front of the service that adds the key, which the conformance suite cannot send, and calls our tools in
 * place of the suite's. Everything else passes unchanged.
 */
export async function startGate(world: World): Promise<{ url: string; close(): void }> {
  const server = createServer((incoming, response) => void pass(world, incoming, response));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function pass(world: World, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { body, name } = translated(String(await buffer(incoming)));
  const headers: Record<string, string | string[] | undefined> = {
    ...incoming.headers,
    'x-api-key': world.installation.api_key,
  };
  // A page of the gate is a page of the service.
  const { localPort } = incoming.socket;
  const ownOrigins = [`http://127.0.0.1:${localPort}`, `http://localhost:${localPort}`];
  if (ownOrigins.includes(incoming.headers.origin ?? '')) headers['origin'] = world.api.url;
  delete headers['content-length'];
  delete headers['transfer-encoding'];
  if (name !== null && headers['mcp-name'] !== undefined) headers['mcp-name'] = name;
  const { url, method } = incoming;
  const outgoing = request(`${world.api.url}${url}`, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  outgoing.on('error', () => response.destroy());
  response.on('close', () => outgoing.destroy());
  outgoing.end(body);
}

function translated(text: string): { body: string; name: string | null } {
  try {
    const message = JSON.parse(text) as Call;
    const { name, arguments: args } = message.params ?? {};
    const tool = name !== undefined && Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined;
    if (!tool) return { body: text, name: null };
    const call = tool(args ?? {}) as { name: string };
    return { body: JSON.stringify({ ...message, params: { ...message.params, ...call } }), name: call.name };
  } catch {
    return { body: text, name: null };
  }
}
