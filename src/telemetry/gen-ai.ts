import type { Attributes } from '@opentelemetry/api';
import {
  UNTRACED_AGENTS,
  type AgentOperation,
  type AgentTraces,
  type OperationResult,
} from '../domain/agents/agent-traces.ts';
import type { SpanPlan, Tracing } from './tracing.ts';

/*
 * Spans of agents, models and tools by OpenTelemetry's semantic conventions for generative AI, version 1.41.0. They
 * are not stable: a new version may rename attributes. Change the version in `tracing.ts` with them. Attributes for
 * the texts of prompts, responses, arguments and results are never set.
 */

/** An agent with a model, whose work is a workflow. `usage` is that of the whole attempt. */
export type WorkingAgent = {
  executionId: string;
  agent: string;
  model: string;
  usage: { input_tokens: number; output_tokens: number } | null;
};

/** Returns the tracer of agents. An agent whose run belongs to no trace gets no spans. */
export function createAgentTraces(tracing: Tracing | null): AgentTraces {
  if (tracing === null) return UNTRACED_AGENTS;
  return {
    async run(operation, work) {
      if (tracing.current() === null) return await work(() => {});
      return await tracing.span(planOf(operation), (span) =>
        work((result) => {
          span.set(attributesOf(result));
          if (result.failure !== undefined) span.end(result.failure);
        }),
      );
    },
    traceparent: () => tracing.traceparent(),
  };
}

/** Returns the attributes of the workflow in which an agent with a model works. */
export function attributesOfWork({ executionId, agent, model, usage }: WorkingAgent): Attributes {
  return {
    'baton.execution_id': executionId,
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': agent,
    ...modelAttributes(model),
    ...(usage ? attributesOf({ inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }) : {}),
  };
}

function planOf(operation: AgentOperation): SpanPlan {
  const common = { 'gen_ai.operation.name': operation.kind, 'gen_ai.agent.name': operation.agent };
  switch (operation.kind) {
    case 'chat': {
      const named = modelAttributes(operation.model);
      const name = `chat ${named['gen_ai.request.model']}`;
      return { name, kind: 'client', attributes: { ...common, ...named } };
    }
    case 'execute_tool': {
      const { server, tool } = operation;
      const own = {
        'gen_ai.tool.name': tool,
        // The protocol's convention adds its attributes to the span of the tool.
        'mcp.method.name': 'tools/call',
        'baton.tool_server': server,
      };
      return { name: `execute_tool ${tool}`, kind: 'internal', attributes: { ...common, ...own } };
    }
    case 'invoke_agent': {
      const { agent, backend } = operation;
      const attributes = { ...common, 'gen_ai.provider.name': backend };
      return { name: `invoke_agent ${agent}`, kind: backend === 'a2a' ? 'client' : 'internal', attributes };
    }
  }
}

/** Returns the provider and the model, which are the parts of `provider/model` before and after the first slash. */
function modelAttributes(name: string) {
  const [provider = '', ...model] = name.split('/');
  return { 'gen_ai.provider.name': provider, 'gen_ai.request.model': model.join('/') };
}

function attributesOf(result: OperationResult): Attributes {
  const { finishReason } = result;
  const all = {
    'gen_ai.usage.input_tokens': result.inputTokens,
    'gen_ai.usage.output_tokens': result.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': result.cacheReadTokens,
    'gen_ai.usage.cache_creation.input_tokens': result.cacheWriteTokens,
    'gen_ai.usage.reasoning.output_tokens': result.reasoningTokens,
    'gen_ai.response.finish_reasons': finishReason === undefined ? undefined : [finishReason],
    'gen_ai.response.id': result.responseId,
    'gen_ai.response.model': result.responseModel,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
