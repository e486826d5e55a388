/** The token usage that a remote agent or a program reports. */
export type ReportedUsage = { input_tokens: number; output_tokens: number };

/** Reference to a task of a remote agent. */
export type RemoteTask = { id: string; contextId: string };

/**
 * How the work of a remote agent or a program ended. `limit`: it exceeded its limit. `asks`: it waits for a person's
 * answer.
 */
export type AgentEnd = (
  | { kind: 'completed'; text: string }
  | { kind: 'failed'; message: string }
  | { kind: 'unrecoverable'; message: string }
  | { kind: 'escalated'; reason: string }
  | { kind: 'limit'; message: string }
  | { kind: 'asks'; text: string; task: RemoteTask }
) & { usage: ReportedUsage | null };

/** Receives what a remote agent or a program reports while it works. */
export type AgentListener = {
  message(text: string): void;
  /** `percent`: whole number from 0 to 100; null if unknown. */
  progress(percent: number | null, text: string | null): void;
};

/** Parses the reported usage. Returns null if it is missing or invalid. */
export function reportedUsage(value: unknown): ReportedUsage | null {
  if (value === null || typeof value !== 'object') return null;
  const { input_tokens: input, output_tokens: output } = value as Record<string, unknown>;
  return isCount(input) && isCount(output) ? { input_tokens: input, output_tokens: output } : null;
}

/** Returns whether the reported usage exceeds the agent's limit. */
export function isOverTokens(usage: ReportedUsage | null, most: number | null): boolean {
  return most !== null && usage !== null && usage.input_tokens + usage.output_tokens > most;
}

/** Returns the end of an agent that exceeded its token limit. */
export function overTokens(tokens: number | null, usage: ReportedUsage | null): AgentEnd {
  return { kind: 'limit', message: `reached its limit of ${tokens} tokens`, usage };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value < 2 ** 31;
}
