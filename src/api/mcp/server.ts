import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type CallToolResult,
  type McpRequestContext,
} from '@modelcontextprotocol/server';
import { hasScope } from '../http/admit.ts';
import type { Caller } from '../http/caller.ts';
import { asProblem, logFailure } from '../http/error-responses.ts';
import type { Route } from '../http/route.ts';
import { callTool } from './call.ts';
import { servePrompts } from './prompts.ts';
import { serveResources } from './resources.ts';
import { refusalOf, resultOf } from './results.ts';
import { inputSchemaOf, outputSchemaOf } from './schemas.ts';
import type { ServedTool, McpRequest } from './mcp-request.ts';
import { taskTools } from './task-tools.ts';
import { asTask, callsByName, serveTasks, TASKS_EXTENSION } from './tasks-extension.ts';
import { webhookTools } from './webhook-tools.ts';

const INFORMATION = { name: 'baton', title: 'Baton', version: '1' };
/** The newest version and the two before. None has batches of messages. */
const VERSIONS = ['2026-07-28', '2025-11-25', '2025-06-18'];
const INSTRUCTIONS =
  'Baton runs long work as durable tasks: teams of agents plan it, do it, and save documents. Submit a task with submit_task, follow it with wait_for_task, answer questions with continue_task, and read the documents with read_artifact. Tasks continue when you disconnect. Keep the execution_id.';

/** The parts that all servers share: the tools with their schemas, and the routes by their `operationId`. */
export type Surface = { tools: readonly ServedTool[]; routes: ReadonlyMap<string, Route> };

/** Creates the schemas of all tools. Called once per process. */
export function createSurface(allRoutes: readonly Route[]): Surface {
  const routes = new Map(allRoutes.map((route) => [route.operationId, route]));
  const tools = [...taskTools, ...webhookTools].map((tool) => {
    const route = routes.get(tool.operation);
    if (!route) throw new Error(`the tool ${tool.name} has no route ${tool.operation}`);
    return {
      ...tool,
      route,
      inputSchema: inputSchemaOf(tool, route),
      outputSchema: outputSchemaOf(tool, route),
    };
  });
  return { tools, routes };
}

/** Creates the server of one request. Clients of earlier protocols have no extensions. */
export function createMcpServer(
  { tools, routes }: Surface,
  mcpRequest: McpRequest,
  era: McpRequestContext['era'],
): Server {
  const extensions = era === 'modern' ? { extensions: { [TASKS_EXTENSION]: {} } } : {};
  // In earlier versions, subscriptions belong to a session, and there are none.
  const resources = era === 'modern' ? { subscribe: true } : {};
  const capabilities = { tools: {}, resources, prompts: {}, ...extensions };
  const server = new Server(INFORMATION, {
    capabilities,
    instructions: INSTRUCTIONS,
    supportedProtocolVersions: VERSIONS,
  });
  const call = callsByName(tools, mcpRequest);
  server.setRequestHandler('tools/list', () => ({
    tools: selectPermittedTools(tools, mcpRequest.caller).map(presentTool),
  }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name}`);
    const args = params.arguments ?? {};
    const text = mcpRequest.argumentsText(context.mcpReq.id) ?? JSON.stringify(args);
    const message = { method: 'tools/call', tool: tool.name, meta: context.mcpReq._meta };
    return await mcpRequest.traced(message, () =>
      withRefusals(tool, mcpRequest, async () => {
        const content = await callTool(tool, { ...mcpRequest, route: tool.route, args, text });
        return await asTask(tool.name, { result: resultOf(content), content }, { mcpRequest, call, context });
      }),
    );
  });
  serveResources(server, routes, mcpRequest);
  servePrompts(server);
  if (era === 'modern') serveTasks(server, mcpRequest, call);
  return server;
}

/** Returns problems as results, so that the model can read them. */
async function withRefusals(
  tool: ServedTool,
  mcpRequest: McpRequest,
  work: () => Promise<CallToolResult>,
): Promise<CallToolResult> {
  try {
    return await work();
  } catch (error) {
    const problem = asProblem(error);
    logFailure(mcpRequest.log, problem, mcpRequest.requestId);
    return refusalOf(problem, tool.name, mcpRequest.requestId);
  }
}

/** Returns the tools that the credential permits. */
function selectPermittedTools(tools: readonly ServedTool[], caller: Caller): ServedTool[] {
  return tools.filter(({ route }) => hasScope(route, caller));
}

function presentTool({ name, title, description, hints, inputSchema, outputSchema }: ServedTool) {
  return {
    name,
    title,
    description,
    inputSchema,
    ...(outputSchema ? { outputSchema } : {}),
    annotations: { title, ...hints },
  };
}
