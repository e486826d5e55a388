import type { Plan } from '../../src/domain/tasks/plan.ts';
import { RunState } from '../../src/domain/tasks/run-state.ts';

/** When the runs of these tests were created, in milliseconds since 1970. */
export const CREATED = Date.parse('2026-01-01T00:00:00.000Z');

/** Returns a plan with one step for each name; the ids are `id-<name>`, the agents `agent-<name>`. */
export function planOf(...names: string[]): Plan {
  const steps = names.map((name) => ({
    id: `id-${name}`,
    name,
    agent: `agent-${name}`,
    after: [],
    time_limit_ms: 1,
    retry: {
      maximum_attempts: 2,
      initial_interval_ms: 10,
      backoff_coefficient: 2,
      maximum_interval_ms: 50,
    },
  }));
  return { backend: 'rehearsal', steps, run_time_limit_ms: 1_000 };
}

/** Returns a run that began after 100 ms and has its plan since 200 ms, without unrecorded changes. */
export function executing(...names: string[]): RunState {
  const state = new RunState(CREATED);
  state.begin(CREATED + 100);
  state.agentsChosen(planOf(...names), CREATED + 200);
  state.takeChange();
  return state;
}
