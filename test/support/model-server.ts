import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** A received request: the conversation so far, with the agent and step. */
export type AskedModel = {
  /** 1, 2, 3 … across the whole server. */
  number: number;
  model: string;
  messages: { role: string; content?: unknown; tool_calls?: unknown[]; tool_call_id?: string }[];
  tools: string[];
  authorization: string | null;
  path: string;
  body: Record<string, unknown>;
  /** Whether the client aborted the request. */
  abandoned: boolean;
};

/** A tool call of a model; `raw` replaces well-formed arguments. */
export type ScriptedCall = { name: string; arguments?: unknown; raw?: string };

/** What the server does with a request. */
export type Reply =
  | { text: string; finish?: string; tokens?: [number, number]; afterMs?: number }
  | { calls: ScriptedCall[]; text?: string; tokens?: [number, number]; afterMs?: number }
  | { refusal: string }
  | { status: number; headers?: Record<string, string>; message?: string; code?: string }
  | { trouble: 'hang' | 'cut' | 'cut in the middle' | 'broken JSON' };

/**
 * A server on loopback with the chat completions of OpenAI and, at `/messages`, the protocol of Anthropic; and the requests
 * that it received.
 */
export type ModelServer = {
  url: string;
  asked: AskedModel[];
  /** Tokens of all complete responses. */
  tokens: { input: number; output: number };
  answered: number;
  /** Replaces the script. */
  answering(script: Script): void;
  close(): Promise<void>;
};

/** Returns the settings of a service that uses this server for all agents without a model. */
export function modelSettings({ url }: ModelServer, key = 'sk-test-secret-key') {
  return {
    DEFAULT_MODEL: 'openai-compatible/test',
    OPENAI_COMPATIBLE_BASE_URL: url,
    OPENAI_COMPATIBLE_API_KEY: key,
  };
}

export type Script = (asked: AskedModel) => Reply | Promise<Reply>;

/** Returns the number of the model's next response in a conversation: 1 for the first. */
export function turnOf({ messages }: AskedModel): number {
  return messages.filter(({ role }) => role === 'assistant').length + 1;
}

/** Returns the contents of all messages of a request as one text. */
export function saidIn({ messages }: AskedModel): string {
  return messages
    .map(({ content }) => (typeof content === 'string' ? content : JSON.stringify(content)))
    .join('\n');
}

export async function startModelServer(script: Script): Promise<ModelServer> {
  let current = script;
  const open = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    open.add(response);
    response.once('close', () => open.delete(response));
    void serve(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const model: ModelServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked: [],
    tokens: { input: 0, output: 0 },
    answered: 0,
    answering: (next) => void (current = next),
    async close() {
      for (const response of open) response.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return model;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
    const asked = readAsked(request, body, model.asked.length + 1);
    model.asked.push(asked);
    response.once('close', () => (asked.abandoned = !response.writableEnded));
    if (body['stream'] === true) return send(response, 400, { error: { message: 'no streaming here' } });
    await answer(await current(asked), asked, response);
  }

  async function answer(reply: Reply, asked: AskedModel, response: ServerResponse): Promise<void> {
    if ('trouble' in reply) return trouble(reply.trouble, response);
    if ('status' in reply) {
      const error = { message: reply.message ?? 'no', type: 'error', code: reply.code ?? null };
      return send(response, reply.status, { error }, reply.headers);
    }
    if ('afterMs' in reply && reply.afterMs) await wait(reply.afterMs);
    if (response.destroyed) return;
    const [input, output] = ('tokens' in reply && reply.tokens) || [
      100 + asked.number,
      10 + (asked.number % 7),
    ];
    model.tokens.input += input;
    model.tokens.output += output;
    model.answered += 1;
    const whole = asked.path.endsWith('/messages') ? anthropicAnswer : openAiAnswer;
    send(response, 200, whole(reply, asked, [input, output]));
  }
}

type WholeReply = Exclude<Reply, { status: number } | { trouble: string }>;

function openAiAnswer(reply: WholeReply, asked: AskedModel, [input, output]: [number, number]) {
  return {
    id: `chatcmpl-${asked.number}`,
    object: 'chat.completion',
    created: 1_780_000_000,
    model: asked.model,
    choices: [{ index: 0, ...choiceOf(reply, asked) }],
    usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
  };
}

/** Returns the reply in the format of Anthropic's messages. */
function anthropicAnswer(reply: WholeReply, asked: AskedModel, [read, written]: [number, number]) {
  const text = 'refusal' in reply ? reply.refusal : (reply.text ?? '');
  const calls = 'calls' in reply ? reply.calls : [];
  return {
    id: `msg_${asked.number}`,
    type: 'message',
    role: 'assistant',
    model: asked.model,
    content: [
      ...(text ? [{ type: 'text', text }] : []),
      ...calls.map(({ name, arguments: input }, index) => ({
        type: 'tool_use',
        id: `toolu_${asked.number}_${index}`,
        name,
        input: input ?? {},
      })),
    ],
    stop_reason: 'refusal' in reply ? 'refusal' : calls.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: read, output_tokens: written },
  };
}

function choiceOf(reply: WholeReply, asked: AskedModel) {
  if ('refusal' in reply) {
    return { message: { role: 'assistant', content: null, refusal: reply.refusal }, finish_reason: 'stop' };
  }
  if ('calls' in reply) {
    const tool_calls = reply.calls.map((call, index) => ({
      id: `call_${asked.number}_${index}`,
      type: 'function',
      function: { name: call.name, arguments: call.raw ?? JSON.stringify(call.arguments ?? {}) },
    }));
    return {
      message: { role: 'assistant', content: reply.text ?? null, tool_calls },
      finish_reason: 'tool_calls',
    };
  }
  return { message: { role: 'assistant', content: reply.text }, finish_reason: reply.finish ?? 'stop' };
}

function trouble(kind: Extract<Reply, { trouble: string }>['trouble'], response: ServerResponse): void {
  if (kind === 'hang') return;
  if (kind === 'cut') return void response.destroy();
  response.writeHead(200, { 'content-type': 'application/json' });
  if (kind === 'broken JSON') return void response.end('{ "id": "chatcmpl-1", "choices": [');
  response.write('{ "id": "chatcmpl-1", ', () => setImmediate(() => response.destroy()));
}

function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

function readAsked(
  { headers, url = '' }: IncomingMessage,
  body: Record<string, unknown>,
  number: number,
): AskedModel {
  const tools = (body['tools'] ?? []) as { name?: string; function?: { name?: string } }[];
  return {
    number,
    model: String(body['model']),
    messages: body['messages'] as AskedModel['messages'],
    tools: tools.map((tool) => tool.function?.name ?? tool.name ?? ''),
    authorization: headers.authorization ?? (headers['x-api-key'] as string | undefined) ?? null,
    path: url,
    body,
    abandoned: false,
  };
}
