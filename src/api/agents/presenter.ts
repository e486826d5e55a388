import type { z } from 'zod';
import { type Agent, backendOfAgent } from '../../agents/agent-settings.ts';
import type { Catalogue } from '../../agents/catalogue.ts';
import type { ToolServer } from '../../agents/server-settings.ts';
import type { LastCall } from '../../database/people/last-calls.ts';
import { DEFAULT_TOOLS } from '../../domain/agents/own-tools.ts';
import { TASK_TYPES } from '../../domain/tasks/task-run.ts';
import type * as schema from './schema.ts';

/** Returns the name under which an agent's calls are recorded; null if it records none. */
export function callName(agent: Agent): string | null {
  const { backend } = backendOfAgent(agent);
  return backend === 'rehearsal' ? null : (agent.model ?? `${backend}/${agent.name}`);
}

/**
 * Returns the catalogue as the API shows it. Addresses and commands are only for admins. Values of variables are
 * never included.
 */
export function presentCatalogue(
  { agents, servers, teams, planner }: Catalogue,
  calls: ReadonlyMap<string, LastCall>,
  isAdmin: boolean,
): z.infer<typeof schema.agentList> {
  return {
    data: [...agents.values()].map((agent) => presentAgent(agent, calls, isAdmin)),
    servers: [...servers.values()].map((server) => presentServer(server, isAdmin)),
    teams: Object.fromEntries(
      TASK_TYPES.map((type) => [
        type,
        teams[type].map(({ name, agent, after, limits }) => ({
          step: name,
          agent,
          after,
          time_limit_ms: limits.timeLimitMs,
        })),
      ]),
    ) as z.infer<typeof schema.agentList>['teams'],
    planner: planner ? { model: planner.model, max_steps: planner.maxSteps } : null,
  };
}

function presentAgent(agent: Agent, calls: ReadonlyMap<string, LastCall>, isAdmin: boolean) {
  const { name, instructions, model, tools, limits, a2a, command } = agent;
  const { backend } = backendOfAgent(agent);
  return {
    name,
    instructions,
    backend,
    model,
    tools: backend === 'model' ? [...(tools ?? DEFAULT_TOOLS)] : [],
    limits: { ...limits },
    address: isAdmin && a2a ? a2a.url : null,
    command: isAdmin && command ? [command.command, ...command.args] : null,
    last_call: calls.get(callName(agent) ?? '') ?? null,
  };
}

function presentServer(server: ToolServer, isAdmin: boolean) {
  const { name, kind: transport, timeLimitMs } = server;
  const location =
    server.kind === 'http'
      ? { address: server.url, command: null }
      : { address: null, command: [server.command, ...server.args] };
  return {
    name,
    transport,
    time_limit_ms: timeLimitMs,
    ...(isAdmin ? location : { address: null, command: null }),
  };
}
