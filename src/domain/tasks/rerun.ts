import type { RunArtifact } from './artifact.ts';
import type { Plan } from './plan.ts';
import type { Step } from './task-run.ts';

/** A plan as it is stored: the steps that were taken over from an earlier run stand beside it, as they ended there. */
export type StoredPlan = Plan & { kept?: Step[]; left?: Left };

/** What kept steps have left behind: results as the output shows them, by the ids of the steps, and documents. */
type Left = { results: { id: string; text: string }[]; artifacts: RunArtifact[] };

/** From which step a run is taken up again, and the names of the steps that stay as they are. */
export type TakingUp = { from: string; kept: string[] };

/**
 * Which steps of an ended run need not be done again. The run is taken up from the step `from`, where none is named
 * from the first that is not completed, and where all are completed from the first of all. That step is done again
 * and so is whatever comes after it, directly or by way of others, and whatever was not completed; the rest is kept.
 * Null where the plan has no step of that name.
 */
export function takeUp(plan: Plan, steps: readonly Step[], from: string | null): TakingUp | null {
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

/** How far the steps of a run have come; one that ended before they began has those that it was to keep. */
export function stepsReached(plan: StoredPlan, steps: readonly Step[]): readonly Step[] {
  return steps.length > 0 ? steps : (plan.kept ?? []);
}

/** What the steps of a run have left behind, by their names. */
export type Leftovers = {
  results: readonly { step: string; text: string }[];
  artifacts: readonly RunArtifact[];
};

/** The same plan for another run, under new ids, with the steps that it keeps as they ended. */
export function planAgain(
  plan: StoredPlan,
  steps: readonly Step[],
  { kept, results, artifacts }: Leftovers & { kept: readonly string[] },
  newId: () => string,
): StoredPlan {
  const { kept: _, left: __, ...rest } = plan;
  const planned = plan.steps.map((step) => ({ ...step, id: newId() }));
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
  return { ...rest, steps: planned, kept: taken, left };
}
