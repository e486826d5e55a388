import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AgentCard, Role, TaskState, type Message, type Task } from '@a2a-js/sdk';
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
} from '@a2a-js/sdk/server';

/** Handles a message. Publishes updates with `say`. */
export type Deed = (
  asked: { text: string; first: boolean; signal: AbortSignal },
  say: Saying,
) => Promise<void> | void;
export type Saying = {
  working(text: string, metadata?: Record<string, unknown>): void;
  artifact(text: string): void;
  ends(state: TaskState, text?: string, metadata?: Record<string, unknown>): void;
  replies(text: string): void;
};

/** A real A2A agent on loopback. */
export type A2aAgent = {
  url: string;
  messages: Message[];
  /** The id of the task of each message. */
  tasks: string[];
  /** The called methods, in order. */
  methods: string[];
  cancelled: string[];
  authorizations: Set<string | undefined>;
  /** The `traceparent` headers of all requests. */
  traces: Set<unknown>;
  doing(deed: Deed): void;
  /** Closes all open connections. */
  cutAll(): void;
  close(): Promise<void>;
};

export async function startA2aAgent(options: { streaming: boolean; key?: string }): Promise<A2aAgent> {
  let deed: Deed = (_asked, say) => say.ends(TaskState.TASK_STATE_COMPLETED, 'Done.');
  const stops = new Map<string, AbortController>();
  const executor: AgentExecutor = {
    async execute(context, bus) {
      agent.messages.push(context.userMessage);
      agent.tasks.push(context.taskId);
      const control = new AbortController();
      stops.set(context.taskId, control);
      const text = context.userMessage.parts
        .map(({ content }) => (content?.$case === 'text' ? content.value : ''))
        .join('');
      await deed(
        { text, first: context.task === undefined, signal: control.signal },
        publisherFor(context, bus),
      );
      stops.delete(context.taskId);
    },
    async cancelTask(taskId, bus) {
      agent.cancelled.push(taskId);
      stops.get(taskId)?.abort();
      bus.publish(AgentEvent.statusUpdate(statusOf(taskId, '', TaskState.TASK_STATE_CANCELED)));
    },
  };
  const http = createServer(
    (request, response) => void serve(request, response).catch(() => response.destroy()),
  );
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const card = AgentCard.fromJSON({
    name: 'Scout',
    description: 'Looks around',
    version: '1.0.0',
    supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: options.streaming },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  });
  const handler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor);
  const rpc = new JsonRpcTransportHandler(handler);
  const agent: A2aAgent = {
    url,
    messages: [],
    tasks: [],
    methods: [],
    cancelled: [],
    authorizations: new Set(),
    traces: new Set(),
    doing: (next) => void (deed = next),
    cutAll: () => http.closeAllConnections(),
    async close() {
      for (const stop of stops.values()) stop.abort();
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
  return agent;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    agent.authorizations.add(request.headers.authorization);
    agent.traces.add(request.headers['traceparent']);
    if (options.key !== undefined && request.headers.authorization !== options.key) {
      return void response.writeHead(401).end(`not with ${request.headers.authorization}`);
    }
    response.setHeader('content-type', 'application/json');
    if (request.method === 'GET' && request.url !== '/.well-known/agent-card.json') {
      return void response.writeHead(404).end();
    }
    if (request.method === 'GET') return void response.end(JSON.stringify(AgentCard.toJSON(card)));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as { method: string };
    agent.methods.push(body.method);
    const answer = await rpc.handle(body, new ServerCallContext({ requestedVersion: '1.0' }));
    if (!(Symbol.asyncIterator in answer)) return void response.end(JSON.stringify(answer));
    response.setHeader('content-type', 'text/event-stream');
    for await (const event of answer) response.write(`data: ${JSON.stringify(event)}\n\n`);
    response.end();
  }
}

function publisherFor(
  { taskId, contextId, task, userMessage }: RequestContext,
  bus: ExecutionEventBus,
): Saying {
  let isBegun = false;
  const begin = () => {
    if (isBegun) return;
    isBegun = true;
    const begun: Task = {
      id: taskId,
      contextId,
      status: { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: undefined },
      artifacts: [],
      history: [...(task?.history ?? []), userMessage],
      metadata: undefined,
    };
    bus.publish(AgentEvent.task(begun));
  };
  const publish = (state: TaskState, text?: string, metadata?: Record<string, unknown>) => {
    begin();
    bus.publish(AgentEvent.statusUpdate(statusOf(taskId, contextId, state, text, metadata)));
  };
  return {
    working: (text, metadata) => publish(TaskState.TASK_STATE_WORKING, text, metadata),
    ends: publish,
    replies: (text) => bus.publish(AgentEvent.message(messageOf(text, contextId, ''))),
    artifact(text) {
      begin();
      const artifact = {
        artifactId: randomUUID(),
        name: 'result',
        description: '',
        parts: messageOf(text, '', '').parts,
        metadata: undefined,
        extensions: [],
      };
      bus.publish(
        AgentEvent.artifactUpdate({
          taskId,
          contextId,
          artifact,
          append: false,
          lastChunk: true,
          metadata: undefined,
        }),
      );
    },
  };
}

function statusOf(
  taskId: string,
  contextId: string,
  state: TaskState,
  text?: string,
  metadata?: Record<string, unknown>,
) {
  const message = text === undefined ? undefined : { ...messageOf(text, contextId, taskId), metadata };
  return { taskId, contextId, status: { state, message, timestamp: undefined }, metadata };
}

function messageOf(text: string, contextId: string, taskId: string): Message {
  return {
    messageId: randomUUID(),
    contextId,
    taskId,
    role: Role.ROLE_AGENT,
    parts: [
      { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: 'text/plain' },
    ],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  };
}
