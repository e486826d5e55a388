import type { Usage } from '../tasks/task-run.ts';

/** What agents with models work with: the shapes between the workflow of a step, its activities and the record. */

/** How far an agent may go in one attempt of a step. Null: no limit of its own. */
export type AgentLimits = {
  model_calls: number;
  tokens: number | null;
  cost_usd: number | null;
  /** What happens when a limit is reached. */
  on_limit: 'fail' | 'escalate';
};

/** A tool as a model is told of it. `name` is what the model calls: `<server>__<tool>`, or one of our own. */
export type ToolDescription = {
  name: string;
  /** The MCP server in the catalogue; null for our own tools. */
  server: string | null;
  tool: string;
  description: string;
  /** JSON Schema of the arguments. */
  input_schema: Record<string, unknown>;
};

/** Where a call stands in the record: which one of which attempt of which step. The same when it is repeated. */
export type CallPlace = { executionId: string; stepId: string; attempt: number; number: number };

/** A tool's answer as the model gets it, cut to a limit. */
export type ToolAnswer = { text: string; is_error: boolean; truncated: boolean };

/**
 * The tools that servers give an agent, as activities on the agents' queue. Neither throws for what a tool or its
 * server does: that is an answer with `is_error`. Our own tools are the workflow's, and are neither listed nor called
 * here.
 */
export type ToolActivities = {
  /** What the catalogue allows the agent, with the names that its model calls. */
  listTools(asked: { agent: string }): Promise<ToolDescription[]>;
  /** Calls one of them and writes the record of it; a name that is not allowed is answered as an error. */
  callTool(asked: { agent: string; place: CallPlace; name: string; input: unknown }): Promise<ToolAnswer>;
};

/** The price of a model, in US dollars for a million tokens. */
export type Price = { input: number; output: number };

/** What one call of a model took; it has a cost where there is a price. */
export function usageOfCall(tokens: { input: number; output: number }, price: Price | null): Usage {
  return {
    input_tokens: tokens.input,
    output_tokens: tokens.output,
    model_calls: 1,
    ...(price ? { cost_usd: (tokens.input * price.input + tokens.output * price.output) / 1_000_000 } : {}),
  };
}

/** A call as it stands in the record. Times are ISO 8601. */
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

/** What a model call brings along beside the call itself, for whoever makes it and writes the record. */
export type ModelCallNote = {
  place: CallPlace;
  step: { name: string; agent: string };
  /** The longest time of the call, in milliseconds. */
  callTimeMs: number;
  /** Whether what the model says is told in the run's feed. */
  isTold: boolean;
};

/** The name under which it travels among the options for providers. */
export const CALL_NOTE = 'baton';

/** Types of the failures of a call, as Temporal carries them: another try is of no use; all tries failed. */
export const MODEL_FAILURES = { refused: 'ModelRefused', failed: 'ModelFailed', over: 'RunIsOver' } as const;
