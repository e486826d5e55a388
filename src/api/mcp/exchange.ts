import { createMcpHandler, ProtocolError } from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import { nullIfNotFound } from '../http/problem.ts';
import type { Route } from '../http/route.ts';
import { createMcpServer, createSurface, type Surface } from './server.ts';
import type { McpRequest } from './mcp-request.ts';
import { withTasks } from './task-notifications.ts';
import type { McpTask } from './task-states.ts';
import { callsByName, clientCapabilitiesIn, readTask } from './tasks-extension.ts';
import { checkAccess, createFeed, subscriptionIn, type FeedDependencies } from './subscriptions.ts';

/** Responds to a request. `value` is its parsed body; undefined if it is not JSON. */
export type Exchange = (mcpRequest: McpRequest, request: Request, value: unknown) => Promise<Response>;

/** Returns a function that reads the tasks of a subscription, for the client that has sent `message`. */
function tasksOf({ tools }: Surface, mcpRequest: McpRequest, message: unknown) {
  const call = callsByName(tools, mcpRequest);
  const { params } = message as { params: { _meta?: unknown } };
  const capabilities = clientCapabilitiesIn(params._meta);
  return (id: string): Promise<McpTask | null> => nullIfNotFound(() => readTask(call, id, capabilities));
}

/** Creates the exchange of all clients, with the schemas of all tools. */
export function createExchange(routes: readonly Route[], log: Logger, feeds: FeedDependencies): Exchange {
  const surface = createSurface(routes);
  const readTaskRoute = surface.routes.get('readTask') as Route;

  return async (mcpRequest, request, value) => {
    const onerror = (error: Error) =>
      log.debug({ err: error, request_id: mcpRequest.requestId }, 'MCP request refused');
    const given = value === undefined ? {} : { parsedBody: value };
    const create = (options: Parameters<typeof createMcpHandler>[1]) =>
      createMcpHandler(({ era }) => createMcpServer(surface, mcpRequest, era), { onerror, ...options });
    try {
      const subscription = subscriptionIn(value);
      if (subscription === null) return await create({}).fetch(request, given);
      mcpRequest.charge(subscription.runs.size);
      await checkAccess(subscription, readTaskRoute, mcpRequest);
      const end = () => void handler.close().catch(onerror);
      const feed = createFeed(feeds, subscription, mcpRequest, end);
      const handler = create({ bus: feed.bus });
      mcpRequest.signal.addEventListener('abort', end, { once: true });
      const response = await handler.fetch(request, { parsedBody: subscription.message });
      return withTasks(feed.follow(response), subscription, tasksOf(surface, mcpRequest, value));
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      const { code, message, data } = error;
      const { id } = value as { id: unknown };
      return Response.json({ jsonrpc: '2.0', id, error: { code, message, data } });
    }
  };
}
