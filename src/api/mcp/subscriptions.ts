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
import { runOf, uriOfTask } from './resources.ts';
import type { McpRequest } from './mcp-request.ts';
import { PacedUpdates } from './paced-updates.ts';
import { clientCapabilitiesIn, requireExtension } from './tasks-extension.ts';

export type FeedDependencies = Pick<Dependencies, 'notifications' | 'database' | 'clock'>;

/** How often the credential of an idle subscription is checked, in milliseconds. */
const CHECK_MS = 15_000;

/** A request for notifications (MCP 2026-07-28, `subscriptions/listen`). Its other fields are validated later. */
const listenRequest = z.looseObject({
  method: z.literal('subscriptions/listen'),
  id: z.union([z.string(), z.number()]),
  params: z.looseObject({
    notifications: z.looseObject({
      resourceSubscriptions: z.array(z.string()).default([]),
      taskIds: z.unknown().optional(),
    }),
  }),
});

const listOfIds = z.array(z.string());

/** A request for notifications. */
export type Subscription = {
  /** The URIs of resources, by their runs. The resource of a task is among them. */
  runs: ReadonlyMap<string, readonly string[]>;
  /** The URIs that the client has named. */
  named: ReadonlySet<string>;
  /** The ids of tasks of the Tasks extension, by the URIs of their resources. */
  tasks: ReadonlyMap<string, string>;
  /** The request with the resources of the tasks among its own. The SDK does not know the tasks. */
  message: unknown;
};

/** Returns the subscription that a message asks for; null if it asks for none. @throws ProtocolError */
export function subscriptionIn(message: unknown): Subscription | null {
  const { data } = listenRequest.safeParse(message);
  if (!data) return null;
  const { resourceSubscriptions, taskIds: givenIds = [], ...others } = data.params.notifications;
  const { data: taskIds } = listOfIds.safeParse(givenIds);
  if (!taskIds) throw new ProtocolError(ProtocolErrorCode.InvalidParams, '`taskIds` must be a list of ids.');
  if (taskIds.length > 0) requireExtension(clientCapabilitiesIn(data.params['_meta']));
  const named = new Set(resourceSubscriptions);
  const tasks = new Map(taskIds.map((id) => [uriOfTask(id), id]));
  const uris = [...new Set([...named, ...tasks.keys()])];
  if (uris.length === 0) return null;
  if (uris.length > MAX_SUBSCRIBED_RESOURCES) {
    const text = `Too many subscriptions: a request can name ${MAX_SUBSCRIBED_RESOURCES} resources and tasks.`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, text);
  }
  const notifications = { ...others, resourceSubscriptions: uris };
  const runs = Map.groupBy(uris, runOf);
  return { runs, named, tasks, message: { ...data, params: { ...data.params, notifications } } };
}

/** Checks that the caller can read all resources. @throws ProtocolError */
export async function checkAccess(
  { runs }: Pick<Subscription, 'runs'>,
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
  { runs }: Pick<Subscription, 'runs'>,
  { caller, log, requestId }: Pick<McpRequest, 'caller' | 'log' | 'requestId'>,
  end: () => void,
): Feed {
  let publishOne: (uri: string) => void = () => {};
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
