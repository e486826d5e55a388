import { backendOf, type PlannedStep, type BackendName, type Plan } from '../domain/tasks/plan.ts';
import type { StoredPlan } from '../domain/tasks/rerun.ts';
import type { Catalogue, TeamStep } from './catalogue.ts';
import type { Rehearsal } from '../domain/tasks/rehearsal.ts';
import type { TaskType } from '../domain/tasks/task-run.ts';
import { backendOfAgent } from './agent-settings.ts';

/** Input of planning. */
export type Task = { taskType: TaskType; rehearsal: Rehearsal | null; hasPlan?: true };

/** A plan, which a planner rewrites if `toShape` is set; or why planning is impossible. */
export type Planned = { plan: StoredPlan; toShape?: true } | { error: string };

/**
 * Chooses the team for a task and writes its steps. A rehearsal with its own number of steps gets them one after
 * another, by the team's agents in turn. Returns `error` if the type has no team, or the rehearsal names a step that
 * the plan does not have.
 */
export function planRun(catalogue: Catalogue, task: Task, newId: () => string): Planned {
  const team = catalogue.teams[task.taskType];
  const steps = (task.rehearsal?.steps ? rehearsedTeam(team, task.rehearsal.steps) : team).map(
    (step): PlannedStep => ({
      id: newId(),
      name: step.name,
      agent: step.agent,
      after: step.after,
      time_limit_ms: step.limits.timeLimitMs,
      retry: step.limits.retry,
    }),
  );
  if (steps.length === 0) return { error: `agents.yml has no team for ${task.taskType}` };
  const named = namedSteps(task.rehearsal).find((number) => number > steps.length);
  if (named !== undefined) {
    return { error: `metadata.rehearsal names step ${named}, but the plan has ${steps.length} steps` };
  }
  const hasPlanner = task.rehearsal === null && (catalogue.planner?.model ?? null) !== null;
  return { plan: planOf(catalogue, task, steps), ...(hasPlanner ? { toShape: true } : {}) };
}

/**
 * Creates a plan from steps, each with its backend. The whole plan counts as a rehearsal if one of its steps is one, so
 * that nobody mistakes it for the work of models.
 */
export function planOf(catalogue: Catalogue, task: Task, steps: PlannedStep[]): Plan {
  const backends = steps.map((step) => backendFor(catalogue, task, step.agent));
  const backend = backends.includes('rehearsal') ? 'rehearsal' : (backends[0] ?? 'rehearsal');
  return {
    backend,
    steps: steps.map((step, index) => {
      const own = backends[index];
      return own === undefined || own === backend ? step : { ...step, backend: own };
    }),
    run_time_limit_ms: catalogue.runTimeLimitMs,
  };
}

/**
 * Returns the backend of an agent for a task. A task with a script is simulated. Otherwise the agent decides; an agent
 * without a model is simulated.
 */
function backendFor(catalogue: Catalogue, { rehearsal }: Task, agent: string): BackendName {
  if (rehearsal !== null) return 'rehearsal';
  const known = catalogue.agents.get(agent);
  return known ? backendOfAgent(known).backend : 'rehearsal';
}

function rehearsedTeam(team: readonly TeamStep[], count: number): TeamStep[] {
  return Array.from({ length: count }, (_, index) => {
    const model = team[index % team.length];
    if (!model) throw new RangeError('the team has no steps');
    return { ...model, name: `step-${index + 1}`, after: index === 0 ? [] : [`step-${index}`] };
  });
}

function namedSteps(rehearsal: Rehearsal | null): number[] {
  const { fail, unrecoverable, escalate, ask, artifact } = rehearsal ?? {};
  return [fail?.step, unrecoverable?.step, escalate?.step, ask?.step, artifact?.step].filter(
    (step) => step !== undefined,
  );
}

/**
 * Adopts the plan of an earlier run with the current backends of its agents. Kept steps keep their backend. Returns
 * `error` if the catalogue no longer has an agent of the remaining steps.
 */
export function adoptPlan(catalogue: Catalogue, task: Task, stored: StoredPlan): Planned {
  const isKept = (id: string) => stored.kept?.some((step) => step.id === id) === true;
  const missing = stored.steps.find(({ id, agent }) => !isKept(id) && !catalogue.agents.has(agent));
  if (missing)
    return { error: `agents.yml no longer has the agent ${missing.agent} of step ${missing.name}` };
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
