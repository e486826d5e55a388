import type { AgentWork } from '../../src/domain/tasks/step-work.ts';

/** The id of the step of {@link workOn}. */
export const STEP = '0199c2a4-5b8c-7d15-8e62-91f0a7c3d4b5';

/** Returns the work of an agent on a step that is attempted once. */
export function workOn(executionId: string, agent: string, attempt = 1): AgentWork {
  const retry = {
    maximum_attempts: 1,
    initial_interval_ms: 1,
    backoff_coefficient: 1,
    maximum_interval_ms: 1,
  };
  const step = { id: STEP, name: 'look', agent, after: [], time_limit_ms: 60_000, retry };
  return { executionId, step, number: 1, attempt, earlier: [] };
}
