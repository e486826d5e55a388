/** What an agent elsewhere says of the tokens it took. */
export type ReportedUsage = { input_tokens: number; output_tokens: number };

/** Where a remote agent's task is to be found again. */
export type RemoteTask = { id: string; contextId: string };

/** How the work of an agent elsewhere ended. `limit`: it took too much. `asks`: it waits for a person's word. */
export type AgentEnd = (
  | { kind: 'completed'; text: string }
  | { kind: 'failed'; message: string }
  | { kind: 'unrecoverable'; message: string }
  | { kind: 'escalated'; reason: string }
  | { kind: 'limit'; message: string }
  | { kind: 'asks'; text: string; task: RemoteTask }
) & { usage: ReportedUsage | null };

/** Who listens to an agent elsewhere while it works. */
export type AgentListener = {
  message(text: string): void;
  /** `percent` from 0 to 100, whole; null where it could not tell. */
  progress(percent: number | null, text: string | null): void;
};

/** Counts among what an agent reports; null where there are none, or they are no counts. */
export function reportedUsage(value: unknown): ReportedUsage | null {
  if (value === null || typeof value !== 'object') return null;
  const { input_tokens: input, output_tokens: output } = value as Record<string, unknown>;
  return isCount(input) && isCount(output) ? { input_tokens: input, output_tokens: output } : null;
}

/** Whether what is reported is more than an agent may take. */
export function isOverTokens(usage: ReportedUsage | null, most: number | null): boolean {
  return most !== null && usage !== null && usage.input_tokens + usage.output_tokens > most;
}

/** The end of an agent that took too much. */
export function overTokens(tokens: number | null, usage: ReportedUsage | null): AgentEnd {
  return { kind: 'limit', message: `reached its limit of ${tokens} tokens`, usage };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value < 2 ** 31;
}
