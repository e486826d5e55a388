import { createHash } from 'node:crypto';
import { isOwnTool, OWN_TOOLS } from '../domain/agents/own-tools.ts';

/** Longest tool name that all providers accept; letters, digits, dashes and underscores. */
const LONGEST_NAME = 64;

/**
 * Returns the servers of an allow-list in their order, with the allowed patterns of each. Everything else is hidden
 * from the agent. Null is an agent without an allow-list, which has no server tools.
 */
export function allowedServers(tools: readonly string[] | null): Map<string, string[]> {
  const servers = new Map<string, string[]>();
  for (const pattern of tools ?? []) {
    const slash = pattern.indexOf('/');
    if (slash === -1) continue;
    const server = pattern.slice(0, slash);
    servers.set(server, [...(servers.get(server) ?? []), pattern.slice(slash + 1)]);
  }
  return servers;
}

/** Returns whether a tool matches a pattern. `*` at the end of a pattern matches anything. */
export function matchesTool(patterns: readonly string[], tool: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? tool.startsWith(pattern.slice(0, -1)) : tool === pattern,
  );
}

/**
 * Returns the faults of an allow-list, one sentence each: names that are neither built-in tools nor of a known server.
 */
export function allowListFaults(tools: readonly string[], servers: ReadonlySet<string>): string[] {
  return tools.flatMap((pattern) => {
    const slash = pattern.indexOf('/');
    if (slash === -1) {
      return isOwnTool(pattern)
        ? []
        : [`no tool ${pattern}: use <server>/<tool>, <server>/*, or one of ${OWN_TOOLS.join(', ')}`];
    }
    if (slash === pattern.length - 1) return [`${pattern} names no tool: use ${pattern}* for all tools`];
    const server = pattern.slice(0, slash);
    return servers.has(server) ? [] : [`no server ${server} for ${pattern}`];
  });
}

/**
 * Returns the name by which a model calls a server's tool: `<server>__<tool>`, with unsupported characters replaced,
 * and cut. If that loses information, a digest of the whole name keeps it unique. Built-in tools have no `__` in their
 * names, so no server can replace one.
 */
export function modelToolName(server: string, tool: string): string {
  const whole = `${server}__${tool}`;
  const plain = whole.replaceAll(/[^a-zA-Z0-9_-]/g, '_');
  if (plain === whole && whole.length <= LONGEST_NAME) return whole;
  const digest = createHash('sha256').update(whole).digest('hex').slice(0, 8);
  return `${plain.slice(0, LONGEST_NAME - digest.length - 1)}_${digest}`;
}
