/** What an agent does, as its traces show it. `model`: `provider/model`. `server`: an MCP server of the catalogue. */
export type AgentOperation =
  | { kind: 'chat'; agent: string; model: string }
  | { kind: 'execute_tool'; agent: string; server: string; tool: string }
  | { kind: 'invoke_agent'; agent: string; backend: 'a2a' | 'command' };

/** What a trace shows of a result: figures and ids, no texts. Undefined: unknown. */
export type OperationResult = {
  inputTokens?: number | undefined;
  outputTokens?: number | undefined;
  cacheReadTokens?: number | undefined;
  cacheWriteTokens?: number | undefined;
  reasoningTokens?: number | undefined;
  finishReason?: string | undefined;
  responseId?: string | undefined;
  responseModel?: string | undefined;
  /** The kind of the failure, for a result that is one. An error that is thrown is a failure anyway. */
  failure?: string | undefined;
};

/** Adds the operations of agents to traces. */
export type AgentTraces = {
  /** Runs the operation in a span. `report` adds what is known of its result. */
  run<T>(
    operation: AgentOperation,
    work: (report: (result: OperationResult) => void) => Promise<T>,
  ): Promise<T>;
  /** Returns the `traceparent` for a request that the current operation sends; null if there is no trace. */
  traceparent(): string | null;
};

/** Used if tracing is off. */
export const UNTRACED_AGENTS: AgentTraces = {
  run: (_operation, work) => work(() => {}),
  traceparent: () => null,
};
