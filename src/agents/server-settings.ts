import { z } from 'zod';
import { MAX_TOOL_TIME_LIMIT_MS, TOOL_TIME_LIMIT_MS } from '../domain/common/limits.ts';
import { duration } from './durations.ts';

/** The name of a server. It is part of the names of its tools, which providers limit. */
export const serverName = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be at most 32 lower-case letters, digits and dashes');

const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be the name of an environment variable');
const httpUrl = z
  .string()
  .max(2_048)
  .refine((text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ''), {
    error: 'must be an address that starts with http:// or https://',
    abort: true,
  })
  .refine((text) => URL.parse(text)?.username === '' && URL.parse(text)?.password === '', {
    error: 'must not contain a user name or password: name a variable in headers_env',
  });
const headerName = z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a header');

/** Header → the environment variable of the worker with its value. */
const headersEnv = z.record(headerName, variable).default({});
const timeLimit = duration(1, MAX_TOOL_TIME_LIMIT_MS).default(TOOL_TIME_LIMIT_MS);

/** Settings of all tool servers. */
const everyServer = { time_limit: timeLimit, repeatable: z.array(z.string().min(1)).max(200).default([]) };
const words = z.string().min(1).max(8_192);

const stdioServer = z.strictObject({
  command: words,
  args: z.array(z.string().max(8_192)).max(100).default([]),
  env: z.array(variable).max(100).default([]),
  cwd: words.optional(),
  ...everyServer,
});
const httpServer = z.strictObject({ url: httpUrl, headers_env: headersEnv, ...everyServer });

/** `servers.<name>`: an MCP server that workers start, or one at a URL. */
export const serverSchema = z.union([stdioServer, httpServer], {
  error: 'must have a command (with args, env, cwd) or a url (with headers_env), and nothing else',
});

/** `agents.<name>.a2a`: a URL, or a URL with headers. */
export const a2aSchema = z.union([httpUrl, z.strictObject({ url: httpUrl, headers_env: headersEnv })], {
  error: 'must be an address, or { url, headers_env }',
});

/** `agents.<name>.command`: program and arguments, optionally with environment and folder. */
export const commandSchema = z.union(
  [
    z.array(words).min(1).max(100),
    z.strictObject({
      run: z.array(words).min(1).max(100),
      env: z.array(variable).max(100).default([]),
      cwd: words.optional(),
    }),
  ],
  { error: 'must be a list of program and arguments, or { run, env, cwd }' },
);

type Common = {
  name: string;
  /** Timeout of one call, in milliseconds. */
  timeLimitMs: number;
  /** Patterns of tools that may be repeated if a crash left open whether they were called; see `matchesTool`. */
  repeatable: readonly string[];
};

/** An MCP server of the catalogue. Contains only the names of the variables with secrets. */
export type ToolServer =
  | (Common & {
      kind: 'stdio';
      command: string;
      args: readonly string[];
      env: readonly string[];
      cwd: string | undefined;
    })
  | (Common & { kind: 'http'; url: string; headersEnv: Readonly<Record<string, string>> });

/** An agent that speaks A2A. */
export type RemoteAgent = { url: string; headersEnv: Readonly<Record<string, string>> };

/** An agent that is a program. */
export type CommandAgent = {
  command: string;
  args: readonly string[];
  env: readonly string[];
  cwd: string | undefined;
};

/** Creates a server from its settings. */
export function serverOf(name: string, settings: z.infer<typeof serverSchema>): ToolServer {
  const common = { name, timeLimitMs: settings.time_limit, repeatable: settings.repeatable };
  if ('url' in settings) {
    return { ...common, kind: 'http', url: settings.url, headersEnv: settings.headers_env };
  }
  const { command, args, env, cwd } = settings;
  return { ...common, kind: 'stdio', command, args, env, cwd };
}

/** Creates a remote agent from its settings. */
export function remoteAgentOf(settings: z.infer<typeof a2aSchema>): RemoteAgent {
  return typeof settings === 'string'
    ? { url: settings, headersEnv: {} }
    : { url: settings.url, headersEnv: settings.headers_env };
}

/** Creates a command agent from its settings. */
export function commandAgentOf(settings: z.infer<typeof commandSchema>): CommandAgent {
  const { run, env, cwd } = Array.isArray(settings) ? { run: settings, env: [], cwd: undefined } : settings;
  const [command = '', ...args] = run;
  return { command, args, env, cwd };
}
