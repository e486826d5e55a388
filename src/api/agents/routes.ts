import { findLastCalls } from '../../database/people/last-calls.ts';
import { hasRole } from '../../domain/people/access.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { route, type Route } from '../http/route.ts';
import { callName, presentCatalogue } from './presenter.ts';
import { agentList } from './schema.ts';

/** Returns the route that lists the agents of the catalogue that this process has loaded (docs/agents.md). */
export function agentRoutes({ catalogue, database }: Pick<Dependencies, 'catalogue' | 'database'>): Route[] {
  return [
    route({
      method: 'get',
      path: '/api/v1/agents',
      operationId: 'listAgents',
      tag: 'agent',
      summary: 'List agents, tool servers and teams',
      access: { kind: 'credential', scope: 'tasks:read' },
      responses: { 200: { description: 'The agent catalogue', schema: agentList } },
      async handle({ caller }) {
        const names = [...catalogue.agents.values()].map(callName).filter((name) => name !== null);
        const calls = await findLastCalls(database, names);
        return { status: 200, body: presentCatalogue(catalogue, calls, isAdmin(caller)) };
      },
    }),
  ];
}

function isAdmin(caller: Caller): boolean {
  return caller.kind === 'person' && hasRole(caller.role, 'admin');
}
