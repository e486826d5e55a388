import type { CallToolResult } from '@ai-sdk/mcp';
import type { Isolation } from './isolation.ts';
import type { CurrentTrace } from './request-trace.ts';
import { LONGEST_DIAGNOSTIC } from './own-process.ts';
import {
  beginningWithoutSecrets,
  secretsAmong,
  secretsIn,
  withoutSecrets,
  type Environment,
  type Secret,
} from './secrets.ts';
import type { ToolServer } from './server-settings.ts';
import { connectToServer, listAll, type Connection, type ServerTool } from './tool-connection.ts';
import { truncate } from '../domain/common/text.ts';

/** The MCP servers of a catalogue and the connections of one worker process to them. */
export type ToolServers = {
  /**
   * Returns all tools of a server, read once per connection.
   * @throws ToolServerError
   */
  list(server: string, signal?: AbortSignal): Promise<readonly ServerTool[]>;
  /**
   * Calls a tool once, within the server's time limit.
   * @throws ToolServerError if there is no result
   */
  call(
    server: string,
    tool: string,
    input: Record<string, unknown>,
    signal?: AbortSignal,
  ): Promise<CallToolResult>;
  /** Returns a text without the server's secrets. */
  withoutSecrets(server: string, text: string): string;
  /** Ends all connections and programs. No new ones are started afterwards. */
  close(): Promise<void>;
};

/** Why a server did not respond. The message contains no secrets. */
export class ToolServerError extends Error {
  override name = 'ToolServerError';
}

export type ToolServerDependencies = {
  servers: ReadonlyMap<string, ToolServer>;
  environment: Environment;
  /** For servers that are programs. */
  isolation: Isolation;
  /** For servers at URLs. Rejects addresses that the address guard rejects. */
  fetch: typeof globalThis.fetch;
  /** For requests to all servers. */
  traceparent?: CurrentTrace;
  /** Called for each line that a server writes to standard error, cut and without its secrets. */
  onDiagnostic(server: string, line: string): void;
};

/** Timeout of the probe after a call timed out, in milliseconds. */
const PROBE_MS = 5_000;
const LONGEST_REASON = 300;

/** A connection and its number of users. The last user closes a stale one. `opened`: null until it is open. */
type PooledConnection = {
  opening: Promise<Connection>;
  opened: Connection | null;
  uses: number;
  isStale: boolean;
};

/**
 * Creates the tool servers. Each is connected at its first use, and again after the connection was lost or its program
 * has ended.
 */
export function createToolServers(deps: ToolServerDependencies): ToolServers {
  const pool = new Map<string, PooledConnection>();
  const secrets = new Map(
    [...deps.servers].map(([name, server]) => [name, secretsFor(server, deps.environment)]),
  );
  const hide = (server: string, text: string) => withoutSecrets(text, secrets.get(server) ?? []);
  const onDiagnostic = (server: string, line: string) =>
    deps.onDiagnostic(server, beginningWithoutSecrets(line, secrets.get(server) ?? [], LONGEST_DIAGNOSTIC));
  let isClosed = false;

  function acquire(server: ToolServer): PooledConnection {
    const known = pool.get(server.name);
    const hasEnded = (known?.opened?.endReason() ?? null) !== null;
    if (known && !hasEnded) return known;
    if (known) retire(server.name, known);
    const opening = connectToServer(server, { ...deps, onDiagnostic });
    const made: PooledConnection = { opening, opened: null, uses: 0, isStale: false };
    made.opening = opening.then((connection) => (made.opened = connection));
    pool.set(server.name, made);
    return made;
  }
  /** Removes a connection from the pool. Its current users keep it; new users get another one. */
  function retire(name: string, one: PooledConnection): void {
    one.isStale = true;
    if (pool.get(name) === one) pool.delete(name);
    closeIfUnused(one);
  }
  /** Retires an open connection after an error of a call, unless the server responds on it. */
  function retireIfBroken(
    server: ToolServer,
    one: PooledConnection,
    { client, endReason }: Connection,
    error: unknown,
  ): void {
    if (codeOf(error) !== null || one.isStale) return;
    if (endReason() !== null || server.kind === 'http') {
      retire(server.name, one);
    } else {
      void client
        .listTools({ options: { timeout: PROBE_MS } })
        .catch((trouble: unknown) => codeOf(trouble) === null && retire(server.name, one));
    }
  }

  async function tryOnce<T>(
    server: ToolServer,
    signal: AbortSignal | undefined,
    work: (c: Connection) => Promise<T>,
  ) {
    const one = acquire(server);
    one.uses += 1;
    try {
      return { answer: await work(await one.opening) };
    } catch (error) {
      const connection = await one.opening.catch(() => null);
      // The next call connects again, whatever the reason was, and even if this call was aborted.
      if (connection === null) retire(server.name, one);
      else if (!signal?.aborted) retireIfBroken(server, one, connection, error);
      const reason = connection?.endReason() ?? reasonOf(error);
      return { error: cut(hide(server.name, reason)), isLost: statusOf(error) === 404 };
    } finally {
      one.uses -= 1;
      closeIfUnused(one);
    }
  }

  async function withServer<T>(
    name: string,
    signal: AbortSignal | undefined,
    work: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    const server = deps.servers.get(name);
    if (!server || isClosed) throw new ToolServerError(`no server ${name}`);
    const first = await tryOnce(server, signal, work);
    // The server does not know the session any more, so it has done nothing (MCP, Streamable HTTP, session management).
    const done = 'error' in first && first.isLost ? await tryOnce(server, signal, work) : first;
    if ('error' in done) throw new ToolServerError(done.error);
    return done.answer;
  }

  return {
    list: (name, signal) =>
      withServer(name, signal, (connection) => {
        connection.tools ??= listAll(connection.client).catch((error: unknown) => {
          connection.tools = null;
          throw error;
        });
        return connection.tools;
      }),
    call: (name, tool, input, signal) =>
      withServer(name, signal, ({ client }) => {
        const options = { timeout: deps.servers.get(name)?.timeLimitMs ?? 0, ...(signal ? { signal } : {}) };
        return client.callTool({ name: tool, arguments: input, options });
      }),
    withoutSecrets: hide,
    async close() {
      isClosed = true;
      const all = [...pool.values()];
      pool.clear();
      await Promise.allSettled(all.map(async ({ opening }) => (await opening).close()));
    },
  };
}

function closeIfUnused({ isStale, uses, opening }: PooledConnection): void {
  if (isStale && uses === 0) void opening.then((connection) => connection.close()).catch(() => {});
}

function secretsFor(server: ToolServer, environment: Environment): Secret[] {
  return server.kind === 'http'
    ? secretsIn(Object.values(server.headersEnv), environment)
    : secretsAmong(server.env, environment);
}

/** Returns the code of an error response of a server. Such a response means that the connection works. */
function codeOf(error: unknown): number | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' ? error.code : null;
}

function statusOf(error: unknown): unknown {
  return error instanceof Error && 'statusCode' in error ? error.statusCode : null;
}

/** Returns the message of the innermost cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  const isVague = ['fetch failed', 'Request was aborted', ''].includes(message);
  return isVague && cause instanceof Error ? reasonOf(cause) : message;
}

function cut(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > LONGEST_REASON ? `${truncate(line, LONGEST_REASON)}…` : line;
}
