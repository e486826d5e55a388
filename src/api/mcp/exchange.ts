import { createMcpHandler, ProtocolError } from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import type { Route } from '../http/route.ts';
import { createMcpServer, createSurface } from './server.ts';
import type { Session } from './session.ts';
import { checkAccess, createFeedBus, subscriptionIn, type FeedDependencies } from './subscriptions.ts';

/** Responds to one request of a session. `value` is its parsed body; undefined if it is not JSON. */
export type Exchange = (session: Session, request: Request, value: unknown) => Promise<Response>;

/** Creates the exchange of all sessions, with the schemas of all tools. */
export function createExchange(routes: readonly Route[], log: Logger, feeds: FeedDependencies): Exchange {
  const surface = createSurface(routes);
  const readTask = surface.routes.get('readTask') as Route;

  return async (session, request, value) => {
    const onerror = (error: Error) =>
      log.debug({ err: error, request_id: session.requestId }, 'MCP request refused');
    const given = value === undefined ? {} : { parsedBody: value };
    const create = (options: Parameters<typeof createMcpHandler>[1]) =>
      createMcpHandler(({ era }) => createMcpServer(surface, session, era), { onerror, ...options });
    try {
      const subscription = subscriptionIn(value);
      if (subscription === null) return await create({}).fetch(request, given);
      session.charge(subscription.runs.size);
      await checkAccess(subscription, readTask, session);
      const end = () => void handler.close().catch(onerror);
      const handler = create({ bus: createFeedBus(feeds, subscription, session, end) });
      session.signal.addEventListener('abort', end, { once: true });
      return await handler.fetch(request, given);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      const { code, message, data } = error;
      const { id } = value as { id: unknown };
      return Response.json({ jsonrpc: '2.0', id, error: { code, message, data } });
    }
  };
}
