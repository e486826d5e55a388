import {
  CLIENT_CAPABILITIES_META_KEY,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
  type ClientCapabilities,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { Problem } from '../http/problem.ts';
import { callTool } from './call.ts';
import { protocolErrorOf } from './protocol-errors.ts';
import type { ServedTool, McpRequest } from './mcp-request.ts';
import { questionKey, taskOf, type Detail, type McpTask } from './task-states.ts';
import type { Arguments, ToolContent } from './tool.ts';

/** The Tasks extension of MCP: a task of the protocol is a run, under the same id. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** Tools whose result is the handle of a run. */
const STARTS_RUN: ReadonlySet<string> = new Set(['submit_task', 'rerun_task']);

const taskParams = z.looseObject({ taskId: z.string() });
/** A filled or closed form (`ElicitResult`). */
const formResult = z.looseObject({
  action: z.enum(['accept', 'decline', 'cancel']),
  content: z.looseObject({ answer: z.string() }).optional(),
});

/** Calls one of the tools for a request. */
export type CallByName = (name: string, args: Arguments) => Promise<ToolContent>;

/** Returns a function that calls the tools by name, for a request. */
export function callsByName(tools: readonly ServedTool[], mcpRequest: McpRequest): CallByName {
  return async (name, args) => {
    const tool = tools.find((one) => one.name === name);
    if (!tool) throw new Error(`there is no tool ${name}`);
    return await callTool(tool, { ...mcpRequest, route: tool.route, args, text: JSON.stringify(args) });
  };
}

/** Registers the methods of the extension. */
export function serveTasks(server: Server, mcpRequest: McpRequest, call: CallByName): void {
  server.setRequestHandler('tasks/get', { params: taskParams }, async ({ taskId }, context) => {
    requireExtension(capabilitiesOf(context));
    return await answered(mcpRequest, context, () => readTask(call, taskId, capabilitiesOf(context)));
  });
  server.setRequestHandler('tasks/cancel', { params: taskParams }, async ({ taskId }, context) => {
    requireExtension(capabilitiesOf(context));
    return await answered(mcpRequest, context, async () => {
      await call('cancel_task', { execution_id: taskId }).catch(ignoreEnded);
      return {};
    });
  });
  server.setRequestHandler('tasks/update', { params: taskParams }, async ({ taskId }, context) => {
    requireExtension(capabilitiesOf(context));
    // The SDK takes the responses out of the parameters.
    const responses = context.mcpReq.inputResponses;
    if (!responses) throw invalid('`inputResponses` is required.');
    return await answered(mcpRequest, context, async () => {
      await answerQuestion(call, taskId, responses);
      return {};
    });
  });
}

function invalid(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

/**
 * Returns the result of a tool, as a task if it started a run and the client supports tasks. A credential that cannot
 * read the run gets the handle alone.
 */
export async function asTask(
  name: string,
  { result, content }: { result: CallToolResult; content: ToolContent },
  { mcpRequest, call, context }: { mcpRequest: McpRequest; call: CallByName; context: ServerContext },
): Promise<CallToolResult> {
  const isTask =
    STARTS_RUN.has(name) &&
    hasExtension(capabilitiesOf(context)) &&
    mcpRequest.caller.scopes.includes('tasks:read');
  if (!isTask) return result;
  const { execution_id: taskId } = content.data as { execution_id: string };
  const { result: _, inputRequests: __, ...task } = await readTask(call, taskId, capabilitiesOf(context));
  return { ...task, resultType: 'task', content: result.content };
}

/** Returns a run as a task, for a client with these capabilities. */
export async function readTask(
  call: CallByName,
  taskId: string,
  { elicitation }: ClientCapabilities,
): Promise<McpTask> {
  const content = await call('get_task', { execution_id: taskId });
  return taskOf(content, { canAnswer: elicitation !== undefined });
}

/** Sends the answer to the open question. Answers to other questions are ignored, and so is a form that was closed. */
async function answerQuestion(
  call: CallByName,
  taskId: string,
  responses: Readonly<Record<string, unknown>>,
): Promise<void> {
  const run = (await call('get_task', { execution_id: taskId })).data as Detail;
  const key = questionKey(run);
  if (key === null || !Object.hasOwn(responses, key)) return;
  const response = formResult.safeParse(responses[key]);
  if (!response.success) throw invalid(`\`inputResponses.${key}\` is not the result of a form.`);
  const { action, content } = response.data;
  if (action === 'cancel') return;
  if (action === 'accept' && content === undefined) throw invalid(`\`${key}\` has no \`answer\`.`);
  const reason = action === 'accept' ? content?.answer : 'The question was declined.';
  const id = run.question?.id;
  const question = id === undefined ? {} : { question: id };
  await call('continue_task', { execution_id: taskId, reason, ...question }).catch(ignoreEnded);
}

/** The run has ended, or another request was faster. */
function ignoreEnded(error: unknown): void {
  if (!(error instanceof Problem && error.code === 'invalid_state')) throw error;
}

function capabilitiesOf({ mcpReq }: ServerContext): ClientCapabilities {
  return clientCapabilitiesIn(mcpReq.envelope);
}

/** Returns the capabilities that the client has declared in the `_meta` of a message. */
export function clientCapabilitiesIn(meta: unknown): ClientCapabilities {
  const declared = (meta ?? {}) as { [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities };
  return declared[CLIENT_CAPABILITIES_META_KEY] ?? {};
}

function hasExtension(capabilities: ClientCapabilities): boolean {
  return capabilities.extensions?.[TASKS_EXTENSION] !== undefined;
}

/** @throws MissingRequiredClientCapabilityError */
export function requireExtension(capabilities: ClientCapabilities): void {
  if (hasExtension(capabilities)) return;
  throw new MissingRequiredClientCapabilityError({
    requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
  });
}

/** Runs the handler of a method. A problem becomes an error of the protocol, with the problem as its data. */
async function answered<T>(
  mcpRequest: McpRequest,
  { mcpReq: { method, _meta: meta } }: ServerContext,
  work: () => Promise<T>,
): Promise<T> {
  return await mcpRequest.traced({ method, meta }, async () => {
    try {
      return await work();
    } catch (error) {
      throw protocolErrorOf(mcpRequest, error);
    }
  });
}
