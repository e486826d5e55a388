import type { Usage } from '../tasks/run-schemas.ts';

/** Types that the workflow of a step, its activities and the record of calls share. */

/** Limits of an agent in one attempt of a step. Null: no limit. */
export type AgentLimits = {
  model_calls: number;
  tokens: number | null;
  cost_usd: number | null;
  /** What happens when a limit is reached. */
  on_limit: 'fail' | 'escalate';
};

/** A tool as a model sees it. `name` is what the model calls: `<server>__<tool>`, or a built-in tool. */
export type ToolDescription = {
  name: string;
  /** The MCP server in the catalogue; null for built-in tools. */
  server: string | null;
  tool: string;
  description: string;
  /** JSON Schema of the arguments. */
  input_schema: Record<string, unknown>;
};

/** Key of a call in the record. A repeated call has the same key. */
export type CallKey = { executionId: string; stepId: string; attempt: number; number: number };

/** A tool's answer as the model gets it, cut to a limit. */
export type ToolAnswer = { text: string; is_error: boolean; truncated: boolean };

/**
 * The tools of MCP servers, as activities on the agents' queue. Neither throws for a failure of a tool or its server:
 * that is an answer with `is_error`. Built-in tools run in the workflow and are neither listed nor called here.
 */
export type ToolActivities = {
  /** Returns the tools that the catalogue allows the agent, with the names that its model calls. */
  listTools(asked: { agent: string }): Promise<ToolDescription[]>;
  /** Calls a tool and records the call. A tool that is not allowed returns an error as its answer. */
  callTool(asked: { agent: string; place: CallKey; name: string; input: unknown }): Promise<ToolAnswer>;
};

/** The answer to a call of a tool that may have been made, if its result is lost. */
export const UNKNOWN_EFFECT =
  'The call was interrupted. It is unknown whether it took effect. Check before you repeat it.';

/** Price of a model, in US dollars per million tokens. */
export type Price = { input: number; output: number };

/** Returns the usage of one model call, with its cost if there is a price. */
export function usageOfCall(tokens: { input: number; output: number }, price: Price | null): Usage {
  return {
    input_tokens: tokens.input,
    output_tokens: tokens.output,
    model_calls: 1,
    ...(price ? { cost_usd: (tokens.input * price.input + tokens.output * price.output) / 1_000_000 } : {}),
  };
}

/** A recorded call. Times are ISO 8601. */
export type AgentCall = {
  step_id: string;
  attempt: number;
  number: number;
  kind: 'model' | 'tool';
  /** `provider/model`, or the tool's name. */
  name: string;
  input: unknown;
  output: unknown;
  /** True where input or output was cut. */
  truncated: boolean;
  usage: Usage | null;
  failure: string | null;
  started_at: string;
  duration_ms: number;
};

/** Data that a model call carries for the activity that makes and records it. */
export type ModelCallContext = {
  place: CallKey;
  step: { name: string; agent: string };
  /** The longest time of the call, in milliseconds. */
  callTimeMs: number;
  /** Whether the text of the model becomes an event in the feed of the run. */
  isTold: boolean;
};

/** Name of {@link ModelCallContext} among the provider options of a call. */
export const CALL_CONTEXT_OPTION = 'baton';

/**
 * Temporal's failure types of a call. `refused`: retrying is of no use. `failed`: all tries failed. `over`: the run has
 * ended.
 */
export const MODEL_FAILURES = { refused: 'ModelRefused', failed: 'ModelFailed', over: 'RunIsOver' } as const;
