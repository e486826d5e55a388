import type { McpTask } from './task-states.ts';
import type { Subscription } from './subscriptions.ts';

/** A message of the stream of a subscription, as far as it is read here. */
type Message = {
  method?: string;
  params?: { _meta?: unknown; uri?: string; notifications?: { resourceSubscriptions?: string[] } };
};

const EVENT = /^event: message\ndata: (.*)\n\n$/s;

/** Returns the task of an id as it is now; null if its run was erased. */
type ReadTask = (id: string) => Promise<McpTask | null>;

/**
 * Returns the response to a subscription with its tasks: each task once at the beginning, so that no change before it is
 * missed, and then after each change. The SDK sends only changes of resources. Those that the client has not named are removed.
 */
export function withTasks(
  response: Response,
  { named, tasks }: Pick<Subscription, 'named' | 'tasks'>,
  readTask: ReadTask,
): Response {
  if (!response.body || tasks.size === 0) return response;
  const sent = new Map<string, string>();

  /** Yields the notification of a task, unless it is the same as the last one. */
  async function* taskTexts(id: string, meta: unknown): AsyncGenerator<string> {
    const task = await readTask(id);
    const text = JSON.stringify(task);
    if (task === null || sent.get(id) === text) return;
    sent.set(id, text);
    yield eventOf({ jsonrpc: '2.0', method: 'notifications/tasks', params: { ...task, _meta: meta } });
  }

  async function* textsFor(text: string): AsyncGenerator<string> {
    const message = messageIn(text);
    const { uri, _meta: meta } = message?.params ?? {};
    if (message?.method === 'notifications/subscriptions/acknowledged') {
      yield eventOf(acknowledgement(message, named, tasks));
      for (const id of tasks.values()) yield* taskTexts(id, meta);
    } else if (message?.method === 'notifications/resources/updated' && uri !== undefined) {
      const id = tasks.get(uri);
      if (id !== undefined) yield* taskTexts(id, meta);
      if (named.has(uri)) yield text;
    } else yield text;
  }

  const texts = new TransformStream<string, string>({
    async transform(text, controller) {
      for await (const one of textsFor(text)) controller.enqueue(one);
    },
  });
  const body = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(texts)
    .pipeThrough(new TextEncoderStream());
  return new Response(body, response);
}

/** Returns the acknowledgement with what the client has named. */
function acknowledgement(
  message: Message,
  named: Subscription['named'],
  tasks: Subscription['tasks'],
): Message {
  const { resourceSubscriptions: uris = [], ...others } = message.params?.notifications ?? {};
  const resources = uris.filter((uri) => named.has(uri));
  const notifications = {
    ...others,
    ...(resources.length > 0 ? { resourceSubscriptions: resources } : {}),
    taskIds: [...tasks.values()],
  };
  return { ...message, params: { ...message.params, notifications } };
}

/** Returns the message of a server-sent event; null for a comment. */
function messageIn(text: string): Message | null {
  const [, data] = EVENT.exec(text) ?? [];
  return data === undefined ? null : (JSON.parse(data) as Message);
}

function eventOf(message: unknown): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`;
}
