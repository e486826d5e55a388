import { SdkError, SdkErrorCode, SdkHttpError, type Client } from '@modelcontextprotocol/client';
import { isCreateTaskResultV2, isDetailedTaskV2 } from '@modelcontextprotocol/ext-tasks/core/v2';
import { setTimeout as wait } from 'node:timers/promises';
import { readSse } from '../../clients/typescript/src/sse.ts';
import { isTerminal, type TaskState } from '../../src/domain/tasks/task-states.ts';
import type { PlannedTask, Seen, TaskCaller } from './protocol-tasks.ts';

const POLL_MS = 300;
const WAIT_SECONDS = 5;
const REQUEST_TIMEOUT_MS = 10_000;
const VERSION = '2026-07-28';

/** A refused request, with the code of its problem. */
class Refusal extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}

/** A service and its key. */
type Address = { url: string; key: string };

// oxlint-disable-next-line typescript/no-explicit-any -- results of every shape
type Result = any;

function argumentsOf({ mark, title, plan }: PlannedTask) {
  return { title, metadata: { mark, rehearsal: plan.rehearsal }, idempotency_key: mark };
}

/** Creates a caller that knows the tools only, as a model does. */
export function toolCaller(client: Client, task: PlannedTask): TaskCaller {
  async function call(name: string, args: Record<string, unknown>): Promise<Result> {
    const result = await client.callTool({ name, arguments: args }, { timeout: REQUEST_TIMEOUT_MS });
    if (!result.isError) return result.structuredContent;
    const [content] = result.content;
    const { code, detail } = JSON.parse(content?.type === 'text' ? content.text : '{}');
    throw new Refusal(code, detail);
  }
  return {
    submit: async () => (await call('submit_task', argumentsOf(task))).execution_id,
    async *follow(id) {
      for (;;) {
        const run = await call('wait_for_task', {
          execution_id: id,
          seconds: task.plan.cancels ? 1 : WAIT_SECONDS,
        });
        yield { isOver: isTerminal(run.state as TaskState), question: run.question?.id ?? null };
        // A task that is paused is not waited for.
        if (run.state === 'paused') await wait(POLL_MS);
      }
    },
    async answer(id, question, text) {
      await call('continue_task', { execution_id: id, question, reason: text }).catch((error: Error) => {
        // The answer has arrived before, without a response.
        if (!(error instanceof Refusal && error.code === 'invalid_state')) throw error;
      });
    },
    cancel: (id) => call('cancel_task', { execution_id: id }),
    isTemporary,
  };
}

/** Creates a caller with the Tasks extension, which polls its task or listens for its notifications. */
export function extensionCaller(
  address: Address,
  task: PlannedTask,
  following: 'polls' | 'listens',
): TaskCaller {
  const send = (method: string, params: Record<string, unknown>) => request(address, method, params);

  async function* poll(id: string): AsyncGenerator<Seen> {
    for (; ; await wait(POLL_MS)) {
      const result = await send('tasks/get', { taskId: id });
      if (!isDetailedTaskV2(result)) throw new Error(`not a task: ${JSON.stringify(result)}`);
      yield seenOf(result);
    }
  }

  async function* listen(id: string): AsyncGenerator<Seen> {
    const response = await post(address, 'subscriptions/listen', { notifications: { taskIds: [id] } });
    if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream'))
      throw refusalIn(await response.json());
    for await (const data of readSse(response.body, () => {})) {
      const { method, params } = JSON.parse(data);
      if (method === 'notifications/tasks') yield seenOf(params);
    }
  }

  return {
    async submit() {
      const result = await send('tools/call', { name: 'submit_task', arguments: argumentsOf(task) });
      if (result.isError) throw new Refusal(JSON.parse(result.content[0].text).code, result.content[0].text);
      if (!isCreateTaskResultV2(result)) throw new Error(`not a task: ${JSON.stringify(result)}`);
      return result.taskId;
    },
    follow: following === 'polls' ? poll : listen,
    answer: (id, question, text) =>
      send('tasks/update', {
        taskId: id,
        inputResponses: { [question]: { action: 'accept', content: { answer: text } } },
      }),
    cancel: (id) => send('tasks/cancel', { taskId: id }),
    isTemporary,
  };
}

/** Returns what a task shows (`DetailedTask`). */
function seenOf({ status, inputRequests }: Result): Seen {
  const isOver = status === 'completed' || status === 'cancelled';
  return { isOver, question: status === 'input_required' ? (Object.keys(inputRequests)[0] ?? null) : null };
}

/** Sends a request of the newest protocol, and returns its result. The SDK's client refuses the results of the extension. */
export async function request(
  address: Address,
  method: string,
  params: Record<string, unknown>,
): Promise<Result> {
  const answer = (await (await post(address, method, params)).json()) as Result;
  if (!answer.result) throw refusalIn(answer);
  return answer.result;
}

async function post(
  { url, key }: Address,
  method: string,
  params: { name?: string; taskId?: string; [name: string]: unknown },
): Promise<Response> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientInfo': { name: 'faults', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {
      elicitation: { form: {} },
      extensions: { 'io.modelcontextprotocol/tasks': {} },
    },
  };
  const name = params.name ?? params.taskId;
  return await fetch(`${url}/mcp`, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
    headers: {
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      'MCP-Protocol-Version': VERSION,
      'Mcp-Method': method,
      ...(name === undefined ? {} : { 'Mcp-Name': name }),
      'X-API-Key': key,
    },
  });
}

/** Returns the refusal in a response with an error. */
function refusalIn(body: Result): Refusal {
  // A service that is starting responds with a problem.
  return new Refusal(body.code ?? body.error.data.code, JSON.stringify(body));
}

/**
 * Returns whether a request was refused for now, or has no response. The SDK's client notices only by its time limit that a
 * stream with a response has ended early, and reports the status of a response that is not of the protocol.
 */
function isTemporary(error: Error): boolean {
  if (error instanceof Refusal) return error.code === 'unavailable' || error.code === 'conflict';
  if (error instanceof SdkHttpError) return error.status === 503;
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
}
