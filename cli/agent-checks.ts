import type { AgentCheck } from '../src/agents/check.ts';

/** An agent in the list of the service. */
export type ListedAgent = {
  name: string;
  backend: AgentCheck['backend'];
  model: string | null;
  tools: string[];
  last_call: { at: string; ok: boolean } | null;
};

/** An agent of the service. `tested`: its settings here are the same, or it is simulated. */
export type ServiceCheck = AgentCheck & { tested: boolean; last_call: ListedAgent['last_call'] };

/**
 * Returns the agents of the service with the checks of those that this environment runs in the same way. Of the others, only
 * their last calls are known: their settings, such as keys, are those of the task workers.
 */
export function checksOfService(
  listed: readonly ListedAgent[],
  checks: readonly AgentCheck[],
): ServiceCheck[] {
  return listed.map(({ name, backend, model, last_call }) => {
    const own = checks.find(({ agent }) => agent === name);
    const isSame = own?.backend === backend && (backend !== 'model' || own.by === model);
    if (own && isSame) return { ...own, tested: true, last_call };
    const tested = backend === 'rehearsal';
    const ok = tested || last_call?.ok !== false;
    return { agent: name, backend, by: model, answers: null, tools: null, ok, tested, last_call };
  });
}
