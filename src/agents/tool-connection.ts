import { createMCPClient, type ListToolsResult, type MCPClient } from '@ai-sdk/mcp';
import { environmentOf } from './own-process.ts';
import type { Environment } from './secrets.ts';
import type { ToolServer } from './server-settings.ts';
import { createStdioTransport } from './stdio-transport.ts';

/** A tool as its server describes it. */
export type ServerTool = ListToolsResult['tools'][number];

/** An MCP server that has answered. */
export type Connection = {
  client: MCPClient;
  /** What it told of its tools; null before it was asked. */
  tools: Promise<readonly ServerTool[]> | null;
  /** How its program ended, in words; null while it runs, or where it has none. */
  endReason(): string | null;
  close(): Promise<void>;
};

type Dependencies = {
  environment: Environment;
  fetch: typeof globalThis.fetch;
  onDiagnostic(server: string, line: string): void;
};

/** From the start of a program to its first answer; it may have to be fetched first. In milliseconds. */
const START_MS = 60_000;
const LIST_MS = 30_000;
/** Pages of a list of tools. */
const MAX_PAGES = 20;

/** Starts a server or connects to it. @throws Error that says why it is not to be had, secrets perhaps included */
export async function connectToServer(server: ToolServer, deps: Dependencies): Promise<Connection> {
  const common = {
    clientName: 'baton',
    initializationOptions: { timeout: START_MS },
    onUncaughtError: (error: unknown) => deps.onDiagnostic(server.name, String(error)),
  };
  if (server.kind === 'http') {
    const headers = headersOf(server.headersEnv, deps.environment);
    const transport = { type: 'http', url: server.url, headers, fetch: deps.fetch } as const;
    const client = await createMCPClient({ ...common, transport: { ...transport, redirect: 'error' } });
    return { client, tools: null, endReason: () => null, close: () => client.close() };
  }
  const env = environmentOf(server.env, deps.environment);
  const transport = createStdioTransport(server, env, (line) => deps.onDiagnostic(server.name, line));
  try {
    const client = await createMCPClient({ ...common, transport });
    // The client alone would not close what has broken off by itself, or what it has started.
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

/** All tools of a server. */
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

/** Headers from the variables that hold their values. @throws Error that names a variable which is not set */
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
