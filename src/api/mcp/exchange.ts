import { createMcpHandler, ProtocolError } from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import type { Route } from '../http/route.ts';
import { createMcpServer, createSurface } from './server.ts';
import type { McpRequest } from './mcp-request.ts';
import { checkAccess, createFeed, subscriptionIn, type FeedDependencies } from './subscriptions.ts';

/** Responds to a request. `value` is its parsed body; undefined if it is not JSON. */
export type Exchange = (mcpRequest: McpRequest, request: Request, value: unknown) => Promise<Response>;

/** Creates the exchange of all clients, with the schemas of all tools. */
export function createExchange(routes: readonly Route[], log: Logger, feeds: FeedDependencies): Exchange {
  const surface = createSurface(routes);
  const readTask = surface.routes.get('readTask') as Route;

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
      await checkAccess(subscription, readTask, mcpRequest);
      const end = () => void handler.close().catch(onerror);
      const feed = createFeed(feeds, subscription, mcpRequest, end);
      const handler = create({ bus: feed.bus });
      mcpRequest.signal.addEventListener('abort', end, { once: true });
      return feed.follow(await handler.fetch(request, given));
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      const { code, message, data } = error;
      const { id } = value as { id: unknown };
      return Response.json({ jsonrpc: '2.0', id, error: { code, message, data } });
    }
  };
}
