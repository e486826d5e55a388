import { backendOf, type PlannedStep } from '../domain/plan.ts';
import type { StoredPlan } from '../domain/rerun.ts';
import type { Catalogue } from './catalogue.ts';
import { planOf, type Planned, type Task } from './plan.ts';

/**
 * A plan that is taken up from an earlier run, with what does the work of its agents today; the steps that are kept
 * were done by what did it then. Answers `error` where the catalogue has lost an agent that there is work for.
 */
export function takeUpPlan(catalogue: Catalogue, task: Task, stored: StoredPlan): Planned {
  const isKept = (id: string) => stored.kept?.some((step) => step.id === id) === true;
  const missing = stored.steps.find(({ id, agent }) => !isKept(id) && !catalogue.agents.has(agent));
  if (missing)
    return { error: `agents.yml has no agent ${missing.agent} any more, who does ${missing.name}` };
  const bare = stored.steps.map((step): PlannedStep => {
    const { backend: _, ...rest } = step;
    return rest;
  });
  const today = planOf(catalogue, task, bare);
  const steps = bare.map((step, index): PlannedStep => {
    const [then, now] = [stored.steps[index], today.steps[index]];
    if (!then || !now) return step;
    return { ...step, backend: isKept(step.id) ? backendOf(stored, then) : backendOf(today, now) };
  });
  const backends = steps.flatMap(({ backend }) => backend ?? []);
  const backend = backends.includes('rehearsal') ? 'rehearsal' : (backends[0] ?? 'rehearsal');
  return { plan: { ...stored, backend, steps, run_time_limit_ms: catalogue.runTimeLimitMs } };
}
