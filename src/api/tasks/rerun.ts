import { randomUUIDv7 } from 'node:crypto';
import { stepIdsOf } from '../../agents/step-ids.ts';
import { isForeignKeyMissing } from '../../database/outage.ts';
import { copyLeftovers, storedPlan } from '../../database/reruns.ts';
import type { TaskRunRow } from '../../database/task-runs.ts';
import { planAgain, takeUp, type StoredPlan } from '../../domain/rerun.ts';
import { isTerminal } from '../../domain/task-states.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { notFound, Problem } from '../http/problem.ts';
import type { Answer, Claim } from '../http/route.ts';
import { openRun } from './read.ts';
import { newSecret } from './submit.ts';
import { idOfClaim, takeIn, type RunToTakeIn } from './take-in.ts';

type Wanted = { id: string; fromStep: string | null };
/** The plan that lies ready for the new run, and from which of its steps on there is work to do. */
type Ready = { plan: StoredPlan; rerun_from: string };

/**
 * Makes a new run of an ended one that keeps the finished steps before the one it begins from, and answers 201. What
 * was submitted stays the same; a run that never came to a plan is planned anew.
 * @throws Problem `invalid_state` while the run goes on, `validation_failed` where it has no such step
 */
export async function rerunTask(
  deps: Dependencies,
  caller: Caller,
  { id, fromStep }: Wanted,
  claim: Claim | null,
): Promise<Answer> {
  const earlier = await openRun(deps, caller, id);
  if (!isTerminal(earlier.state)) {
    throw new Problem(
      'invalid_state',
      `The run is ${earlier.state}; only one that has ended can be run again.`,
    );
  }
  const newId = claim ? idOfClaim(claim) : randomUUIDv7();
  const ready = readyPlan(await storedPlan(deps.database, earlier.id), earlier, fromStep, newId);
  const run = runLike(earlier, { id: newId, created_by: caller.actor, created_at: deps.clock(), ...ready });
  try {
    const beforeStart = () => copyLeftovers(deps.database, leftoversOf(earlier, newId, ready));
    const taken = await takeIn(deps, { run, secret: newSecret(), claim, beforeStart });
    const body = { ...taken, rerun_of: earlier.id, rerun_from: ready?.rerun_from ?? null };
    return { status: 201, headers: { Location: taken.status_url }, body };
  } catch (error) {
    // Erased between the look at it and now.
    if (isForeignKeyMissing(error)) throw notFound('task');
    throw error;
  }
}

function readyPlan(
  plan: StoredPlan | null,
  { steps, output }: TaskRunRow,
  fromStep: string | null,
  newId: string,
): Ready | null {
  if (plan === null && fromStep === null) return null;
  const taken = plan && takeUp(plan, steps, fromStep);
  if (!plan || !taken) {
    const names = plan?.steps.map(({ name }) => name).join(', ');
    const message = names
      ? `must be one of the run's steps: ${names}`
      : 'can not be named: the run has no plan';
    throw new Problem('validation_failed', 'The run has no such step.', {
      errors: [{ pointer: '/from_step', code: 'not_allowed', message }],
    });
  }
  return {
    plan: planAgain(plan, steps, { kept: taken.kept, output: output ?? null }, stepIdsOf(newId)),
    rerun_from: taken.from,
  };
}

function leftoversOf(earlier: TaskRunRow, newId: string, ready: Ready | null) {
  const steps = (ready?.plan.kept ?? []).flatMap(({ id, name }) => {
    const there = earlier.steps.find((step) => step.name === name);
    return there ? [{ name, earlierId: there.id, id }] : [];
  });
  return { from: earlier.id, to: newId, steps };
}

/** What was submitted, once more. */
function runLike(
  earlier: TaskRunRow,
  fresh: Pick<RunToTakeIn['run'], 'id' | 'created_by' | 'created_at'> & Partial<Ready>,
): RunToTakeIn['run'] {
  return {
    workspace_id: earlier.workspace_id,
    project_id: earlier.project_id,
    title: earlier.title,
    description: earlier.description ?? null,
    task_type: earlier.task_type,
    metadata: earlier.metadata,
    callback_url: earlier.callback_url ?? null,
    rerun_of: earlier.id,
    ...fresh,
  };
}
