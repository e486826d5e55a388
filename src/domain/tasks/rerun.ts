import { MAX_STEP_ANSWERS } from '../common/limits.ts';
import type { RunArtifact } from './artifact.ts';
import type { Plan, PlannedStep, StepAnswer } from './plan.ts';
import type { Step } from './run-schemas.ts';

/**
 * A stored plan. `kept`: steps taken over from an earlier run, as they ended there. `answered`: the answer to the
 * escalation of the earlier run.
 */
export type StoredPlan = Plan & { kept?: Step[]; left?: KeptOutputs; answered?: RerunAnswer };

/** The answer that a rerun was started with, for the step that escalated in the earlier run. */
export type RerunAnswer = StepAnswer & { step: string };

/** Outputs of kept steps: results as the output shows them, by step id, and documents. */
type KeptOutputs = { results: { id: string; text: string }[]; artifacts: RunArtifact[] };

/** The step that a rerun starts from, and the names of the steps that it keeps. */
export type RerunSelection = { from: string; kept: string[] };

/**
 * Selects the steps of an ended run that a rerun keeps. The rerun starts from the step `from`; by default from the
 * first step that is not completed, or from the first step if all are completed. It repeats that step, all steps that
 * depend on it, directly or indirectly, and all steps that were not completed, and keeps the rest. Returns null if the
 * plan has no step of that name.
 */
export function selectRerunSteps(
  plan: Plan,
  steps: readonly Step[],
  from: string | null,
): RerunSelection | null {
  const completed = new Set(steps.filter(({ status }) => status === 'completed').map(({ name }) => name));
  const names = plan.steps.map(({ name }) => name);
  const first = from ?? names.find((name) => !completed.has(name)) ?? names[0];
  if (first === undefined || !names.includes(first)) return null;
  const again = new Set([first, ...names.filter((name) => !completed.has(name))]);
  for (let known = 0; known !== again.size; ) {
    known = again.size;
    for (const { name, after } of plan.steps) if (after.some((before) => again.has(before))) again.add(name);
  }
  return { from: first, kept: names.filter((name) => !again.has(name)) };
}

/** Returns the steps of a run; for a run that ended before its steps started, the steps it was to keep. */
export function stepsReached(plan: StoredPlan, steps: readonly Step[]): readonly Step[] {
  return steps.length > 0 ? steps : (plan.kept ?? []);
}

/** Outputs of the steps of a run, by step name. */
export type StepOutputs = {
  results: readonly { step: string; text: string }[];
  artifacts: readonly RunArtifact[];
};

/** Returns the plan for another run, with new ids, the kept steps as they ended, and the answer to the escalation. */
export function createRerunPlan(
  plan: StoredPlan,
  steps: readonly Step[],
  { kept, results, artifacts }: StepOutputs & { kept: readonly string[] },
  newId: () => string,
  answered: RerunAnswer | null = null,
): StoredPlan {
  const { kept: _, left: __, answered: ___, ...rest } = plan;
  const planned = plan.steps.map((step) => ({ ...withAnswer(step, answered), id: newId() }));
  const taken = planned.flatMap(({ id, name }) => {
    const step = steps.find((done) => done.name === name);
    return step && kept.includes(name) ? [{ ...step, id, kept: true as const }] : [];
  });
  const left = {
    results: taken.flatMap(({ id, name }) => {
      const text = results.find(({ step }) => step === name)?.text;
      return text === undefined ? [] : [{ id, text }];
    }),
    artifacts: artifacts.filter(({ step }) => taken.some(({ name }) => name === step)),
  };
  return { ...rest, steps: planned, kept: taken, left, ...(answered ? { answered } : {}) };
}

function withAnswer(step: PlannedStep, answered: RerunAnswer | null): PlannedStep {
  if (answered?.step !== step.name) return step;
  const { question, text, by } = answered;
  return { ...step, answers: [...(step.answers ?? []), { question, text, by }].slice(-MAX_STEP_ANSWERS) };
}
