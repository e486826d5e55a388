import { createHash } from 'node:crypto';
import { isOwnTool, OWN_TOOLS } from '../domain/agents/own-tools.ts';

/** The longest name of a tool that all providers take; letters, digits, dashes and underscores. */
const LONGEST_NAME = 64;

/**
 * The servers of an allow-list, in the order they are named, with what may be called of each. Nothing else exists for
 * the agent; null is an agent that names no tools, and has none of servers.
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

/** Whether a tool of a server is one of those that are named; `*` at the end of a name stands for anything. */
export function matchesTool(patterns: readonly string[], tool: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith('*') ? tool.startsWith(pattern.slice(0, -1)) : tool === pattern,
  );
}

/** What is wrong with an allow-list, a sentence each: names that are neither ours nor of a server that there is. */
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
 * The name by which a model calls a server's tool: `<server>__<tool>`, with what providers do not take replaced, and
 * cut. Where that loses something, a digest of the whole name keeps it apart from others. Our own tools have no `__`
 * in their names, so no server can take the place of one.
 */
export function modelToolName(server: string, tool: string): string {
  const whole = `${server}__${tool}`;
  const plain = whole.replaceAll(/[^a-zA-Z0-9_-]/g, '_');
  if (plain === whole && whole.length <= LONGEST_NAME) return whole;
  const digest = createHash('sha256').update(whole).digest('hex').slice(0, 8);
  return `${plain.slice(0, LONGEST_NAME - digest.length - 1)}_${digest}`;
}
