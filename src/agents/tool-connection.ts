import { createMCPClient, type ListToolsResult, type MCPClient } from '@ai-sdk/mcp';
import type { Isolation } from './isolation.ts';
import { environmentOf } from './own-process.ts';
import { tracingFetch, type CurrentTrace } from './request-trace.ts';
import type { Environment } from './secrets.ts';
import type { ToolServer } from './server-settings.ts';
import { createStdioTransport } from './stdio-transport.ts';

/** A tool as its server describes it. */
export type ServerTool = ListToolsResult['tools'][number];

/** A connected MCP server. */
export type Connection = {
  client: MCPClient;
  /** Its tools; null before the first request. */
  tools: Promise<readonly ServerTool[]> | null;
  /** How its program ended, as text; null while it runs, or if it has none. */
  endReason(): string | null;
  close(): Promise<void>;
};

type Dependencies = {
  environment: Environment;
  isolation: Isolation;
  fetch: typeof globalThis.fetch;
  traceparent?: CurrentTrace;
  onDiagnostic(server: string, line: string): void;
};

/**
 * Timeout from the start of a program to its first response, in milliseconds. The program may have to be downloaded
 * first.
 */
const START_MS = 60_000;
const LIST_MS = 30_000;
/** Pages of a tool list, at most. */
const MAX_PAGES = 20;

/**
 * Starts a server or connects to it.
 * @throws Error with the reason, which may contain secrets
 */
export async function connectToServer(server: ToolServer, deps: Dependencies): Promise<Connection> {
  const { traceparent = () => null } = deps;
  const common = {
    clientName: 'baton',
    initializationOptions: { timeout: START_MS },
    onUncaughtError: (error: unknown) => deps.onDiagnostic(server.name, String(error)),
  };
  if (server.kind === 'http') {
    const headers = headersOf(server.headersEnv, deps.environment);
    const fetch = tracingFetch(deps.fetch, traceparent);
    const transport = { type: 'http', url: server.url, headers, fetch } as const;
    const client = await createMCPClient({ ...common, transport: { ...transport, redirect: 'error' } });
    return { client, tools: null, endReason: () => null, close: () => client.close() };
  }
  const env = environmentOf(server.env, deps.environment);
  const { isolation } = deps;
  const transport = createStdioTransport(server, { env, isolation, traceparent }, (line) =>
    deps.onDiagnostic(server.name, line),
  );
  try {
    const client = await createMCPClient({ ...common, transport });
    // The client alone would not close a connection that broke off, or the program's children.
    const close = async () => {
      await client.close();
      await transport.close();
    };
    return { client, tools: null, endReason: transport.endReason, close };
  } catch (error) {
    await transport.close();
    const reason = transport.fault() ?? (error as Error).message;
    throw new Error(`cannot start the server: ${reason}`, { cause: error });
  }
}

/** Returns all tools of a server. */
export async function listAll(client: MCPClient): Promise<readonly ServerTool[]> {
  const tools: ServerTool[] = [];
  const options = { timeout: LIST_MS };
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const found = await client.listTools({
      options,
      ...(cursor === undefined ? {} : { params: { cursor } }),
    });
    tools.push(...found.tools);
    cursor = found.nextCursor;
    if (cursor === undefined) break;
  }
  return tools;
}

/**
 * Returns headers with the values of their variables.
 * @throws Error that names a variable which is not set
 */
export function headersOf(
  headersEnv: Readonly<Record<string, string>>,
  environment: Environment,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headersEnv).map(([header, variable]) => {
      const value = environment[variable];
      if (!value) throw new Error(`the environment variable ${variable} is not set`);
      return [header, value];
    }),
  );
}
