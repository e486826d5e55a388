import type { ToolDescription } from '../domain/agents/agent-work.ts';
import {
  ALL_TOOLS_BYTES,
  MAX_TOOLS,
  TOOL_DESCRIPTION_BYTES,
  TOOL_SCHEMA_BYTES,
} from '../domain/common/limits.ts';
import { ownTool, ownToolsOf } from '../domain/agents/own-tools.ts';
import { storable } from '../domain/common/text.ts';
import { cutText } from './cut.ts';
import type { ServerTool } from './tool-connection.ts';
import { allowedServers, matchesTool, modelToolName } from './tool-policy.ts';
import type { ToolServers } from './tool-servers.ts';

/** The tools that an agent may call, and the faults of its allow-list, one sentence each. */
export type ToolSet = { tools: ToolDescription[]; faults: string[] };

type ToolLister = Pick<ToolServers, 'list'>;

/**
 * Returns the tools of an agent for its model: built-in tools, then the allowed tools of its servers. For an
 * unavailable server it returns the tools that the allow-list names, since they may be available when they are called,
 * or one placeholder that reports the fault. Rejects only if `signal` aborts.
 */
export async function toolSetOf(
  allowList: readonly string[] | null,
  servers: ToolLister,
  signal?: AbortSignal,
): Promise<ToolSet> {
  const own = ownToolsOf(allowList).map(ownTool);
  const found = await Promise.all(
    [...allowedServers(allowList)].map(([server, patterns]) => toolsOf(server, patterns, servers, signal)),
  );
  const all = [...own, ...found.flatMap(({ tools }) => tools)];
  const faults = found.flatMap((one) => one.faults);
  const { tools, omitted } = bounded(all);
  if (omitted.length > 0)
    faults.push(`too many or too large tools for one agent, omitted: ${omitted.join(', ')}`);
  return { tools, faults };
}

/** Returns the server and tool for a name that a model called; null if the agent has no such tool. */
export async function toolNamed(
  name: string,
  allowList: readonly string[] | null,
  servers: ToolLister,
  signal?: AbortSignal,
): Promise<{ server: string; tool: string } | null> {
  const [server, patterns] =
    [...allowedServers(allowList)].find(([one]) => name.startsWith(`${one}__`)) ?? [];
  if (server === undefined || patterns === undefined) return null;
  const named = patterns.find((tool) => !tool.endsWith('*') && modelToolName(server, tool) === name);
  if (named !== undefined) return { server, tool: named };
  if (!patterns.some((pattern) => pattern.endsWith('*'))) return null;
  const known = await servers.list(server, signal);
  const tool = known.find(
    (one) => matchesTool(patterns, one.name) && modelToolName(server, one.name) === name,
  );
  return tool ? { server, tool: tool.name } : null;
}

/**
 * Returns whether a tool may be repeated if it is unknown whether it was called: by its server's annotations, or by the
 * catalogue.
 */
export async function mayRepeat(
  { server, tool }: { server: string; tool: string },
  repeatable: readonly string[],
  servers: ToolLister,
  signal?: AbortSignal,
): Promise<boolean> {
  if (matchesTool(repeatable, tool)) return true;
  const known = await servers.list(server, signal).catch(() => []);
  const { readOnlyHint, idempotentHint } = known.find(({ name }) => name === tool)?.annotations ?? {};
  return readOnlyHint === true || idempotentHint === true;
}

async function toolsOf(
  server: string,
  patterns: readonly string[],
  servers: ToolLister,
  signal: AbortSignal | undefined,
): Promise<ToolSet> {
  let known: readonly ServerTool[];
  try {
    known = await servers.list(server, signal);
  } catch (error) {
    signal?.throwIfAborted();
    const reason = `${server}: ${(error as Error).message}`;
    return { tools: placeholders(server, patterns, reason), faults: [reason] };
  }
  const allowed = known.filter(({ name }) => matchesTool(patterns, name));
  const tools = allowed.map((tool) => described(server, tool));
  const missing = patterns.filter((pattern) => !known.some(({ name }) => matchesTool([pattern], name)));
  const large = allowed
    .filter((tool) => sizeOf(tool.inputSchema) > TOOL_SCHEMA_BYTES)
    .map(({ name }) => name);
  return {
    tools: tools.filter((tool) => !large.includes(tool.tool)),
    faults: [
      ...missing.map((pattern) => `${server}: has no tool ${pattern}`),
      ...large.map((name) => `${server}: the schema of ${name} has more than ${TOOL_SCHEMA_BYTES} bytes`),
    ],
  };
}

function described(server: string, { name, description, title, inputSchema }: ServerTool): ToolDescription {
  const text = storable(description ?? title ?? name);
  return {
    name: modelToolName(server, name),
    server,
    tool: name,
    description: cutText(text, TOOL_DESCRIPTION_BYTES).text,
    // Providers require an object, even if a tool takes no arguments.
    input_schema: { ...inputSchema, type: 'object', properties: inputSchema.properties ?? {} },
  };
}

function placeholders(server: string, patterns: readonly string[], reason: string): ToolDescription[] {
  const named = patterns.filter((pattern) => !pattern.endsWith('*'));
  const input_schema = { type: 'object', properties: {}, additionalProperties: true };
  const shared = { server, description: `May be unavailable (${reason})`, input_schema };
  const tools = named.map((tool) => ({ name: modelToolName(server, tool), tool, ...shared }));
  if (named.length === patterns.length) return tools;
  return [...tools, { name: `${server}__unavailable`, tool: 'unavailable', ...shared }];
}

/** Returns as many tools as one agent may have and as fit into one model call; `omitted` has the rest. */
function bounded(all: readonly ToolDescription[]): { tools: ToolDescription[]; omitted: string[] } {
  let room = ALL_TOOLS_BYTES;
  const tools: ToolDescription[] = [];
  const omitted: string[] = [];
  for (const tool of all) {
    const size = sizeOf(tool);
    if (tools.length >= MAX_TOOLS || size > room) omitted.push(tool.name);
    else {
      tools.push(tool);
      room -= size;
    }
  }
  return { tools, omitted };
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
