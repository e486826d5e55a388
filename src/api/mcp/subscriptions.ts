import {
  ProtocolError,
  ProtocolErrorCode,
  type ServerEvent,
  type ServerEventBus,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { MAX_SUBSCRIBED_RESOURCES } from '../../domain/common/limits.ts';
import type { Dependencies } from '../dependencies.ts';
import { watchCredential } from '../http/credential-watch.ts';
import type { Route } from '../http/route.ts';
import { protocolErrorOf } from './protocol-errors.ts';
import { runOf } from './resources.ts';
import type { McpRequest } from './mcp-request.ts';
import { PacedUpdates } from './paced-updates.ts';

export type FeedDependencies = Pick<Dependencies, 'notifications' | 'database' | 'clock'>;

/** How often the credential of an idle subscription is checked, in milliseconds. */
const CHECK_MS = 15_000;

/** A request for notifications (MCP 2026-07-28, `subscriptions/listen`). Its other fields are validated later. */
const listenRequest = z.object({
  method: z.literal('subscriptions/listen'),
  id: z.union([z.string(), z.number()]),
  params: z.object({ notifications: z.object({ resourceSubscriptions: z.array(z.string()) }) }),
});

/** The id of a request for notifications, and the runs of its resources with their URIs. */
export type Subscription = { id: string | number; runs: ReadonlyMap<string, readonly string[]> };

/** Returns the subscription that a message asks for; null if it asks for none. @throws ProtocolError */
export function subscriptionIn(message: unknown): Subscription | null {
  const { data } = listenRequest.safeParse(message);
  if (!data) return null;
  const uris = [...new Set(data.params.notifications.resourceSubscriptions)];
  if (uris.length > MAX_SUBSCRIBED_RESOURCES) {
    const text = `Too many subscriptions: a request can name ${MAX_SUBSCRIBED_RESOURCES} resources.`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, text);
  }
  return { id: data.id, runs: Map.groupBy(uris, runOf) };
}

/** Checks that the caller can read all resources. @throws ProtocolError */
export async function checkAccess(
  { runs }: Subscription,
  readTask: Route,
  mcpRequest: McpRequest,
): Promise<void> {
  for (const [id, [uri = '']] of runs) {
    const request = { params: { execution_id: id }, query: {}, body: undefined, text: '' };
    await mcpRequest.invoke(readTask, request).catch((error: unknown) => {
      throw protocolErrorOf(mcpRequest, error, uri);
    });
  }
}

/** The source of the notifications of one subscription, and its response, which sets their pace. */
export type Feed = { bus: ServerEventBus; follow(response: Response): Response };

/** Creates the feed of one subscription. `end` ends it when the credential does. */
export function createFeed(
  deps: FeedDependencies,
  { runs }: Subscription,
  { caller, log, requestId }: Pick<McpRequest, 'caller' | 'log' | 'requestId'>,
  end: () => void,
): Feed {
  let publishOne = (_: string): void => {};
  const updates = new PacedUpdates((uri) => publishOne(uri));
  const listen = (listener: (event: ServerEvent) => void) => {
    publishOne = (uri) => listener({ kind: 'resource_updated', uri });
    const check = async () => {
      const isValid = await credential.isValid();
      if (!isValid) end();
      return isValid;
    };
    const onError = (error: unknown) => {
      log.warn({ err: error, request_id: requestId }, 'subscription ended');
      end();
    };
    const publish = async (uris: readonly string[]) => {
      if (await check()) updates.add(uris);
    };
    const credential = watchCredential(deps, caller, () => void check().catch(onError));
    const stops = [...runs].map(([id, uris]) =>
      deps.notifications.subscribe('feed', id, () => void publish(uris).catch(onError)),
    );
    const timer = setInterval(() => void check().catch(onError), CHECK_MS).unref();
    return () => {
      clearInterval(timer);
      credential.close();
      for (const stop of stops) stop();
    };
  };
  return {
    bus: { publish: () => {}, subscribe: listen },
    follow: (response) => updates.follow(response),
  };
}
