import { randomUUIDv7 } from 'node:crypto';
import { cutText } from '../../agents/cut.ts';
import { stepIdsOf } from '../../database/common/ids.ts';
import { listArtifacts } from '../../database/tasks/artifacts.ts';
import { isForeignKeyMissing } from '../../database/common/outage.ts';
import { findPlan, insertRerun, type KeptStep } from '../../database/tasks/reruns.ts';
import { listStepResults } from '../../database/tasks/step-results.ts';
import type { NewRun, TaskRunRow } from '../../database/tasks/task-runs.ts';
import { OUTPUT_RESULT_BYTES } from '../../domain/common/limits.ts';
import {
  createRerunPlan,
  stepsReached,
  selectRerunSteps,
  type RerunAnswer,
  type StoredPlan,
  type RerunSelection,
} from '../../domain/tasks/rerun.ts';
import type { Step } from '../../domain/tasks/run-schemas.ts';
import { isTerminal } from '../../domain/tasks/task-states.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { notFound, Problem } from '../http/problem.ts';
import type { RouteResponse, Claim } from '../http/route.ts';
import { openRun } from './read.ts';
import { newSecret } from './submit.ts';
import { idOfClaim } from '../http/idempotency.ts';
import { acceptRun, type RunToAccept } from './accept.ts';

type RerunRequest = { fromStep: string | null; answer: string | null };
/** The plan of the new run, and the step that it starts from. */
type Ready = { plan: StoredPlan; rerun_from: string };

/**
 * Creates a new run from an ended one, keeps the completed steps before the start step, and returns 201. The
 * submitted fields stay the same. A run without a plan is planned again.
 * @throws Problem `invalid_state` if the run has not ended, `validation_failed` if it has no such step, or an answer is
 * given to a run that was not escalated
 */
export async function rerunTask(
  deps: Dependencies,
  caller: Caller,
  { id, ...request }: RerunRequest & { id: string },
  claim: Claim | null,
): Promise<RouteResponse> {
  const earlier = await openRun(deps, caller, id);
  const body = await createRerun(deps, caller, { earlier, ...request, secret: newSecret(), claim });
  return { status: 201, headers: { Location: body.status_url }, body };
}

/**
 * Creates a new run from `earlier`. `secret` signs its callbacks.
 * @throws Problem as {@link rerunTask}
 */
export async function createRerun(
  deps: Dependencies,
  caller: Caller,
  {
    earlier,
    fromStep,
    answer,
    secret,
    claim,
  }: RerunRequest & { earlier: TaskRunRow; secret: string; claim: Claim | null },
) {
  if (!isTerminal(earlier.state)) {
    const detail = `The run is ${earlier.state}. Only a run that has ended can be rerun.`;
    throw new Problem('invalid_state', detail);
  }
  const newId = claim ? idOfClaim(claim) : randomUUIDv7();
  const plan = await findPlan(deps.database, earlier.id);
  const reached = plan ? stepsReached(plan, earlier.steps) : [];
  const takingUp = resolveStart(plan, reached, fromStep);
  const answered = answer === null ? null : answerTo(earlier, answer, caller.label);
  const ready: Partial<Ready> =
    plan && takingUp
      ? {
          plan: createRerunPlan(
            plan,
            reached,
            await keptResultsOf(deps, earlier.id, reached, takingUp.kept),
            stepIdsOf(newId),
            answered,
          ),
          rerun_from: takingUp.from,
        }
      : {};
  const run = copyRun(earlier, { id: newId, created_by: caller.actor, created_at: deps.clock(), ...ready });
  const kept = { from: earlier.id, steps: keptSteps(reached, ready.plan?.kept ?? []) };
  try {
    const store = (row: NewRun) => insertRerun(deps.database, row, kept);
    const taken = await acceptRun(deps, { run, secret, claim, store });
    return {
      ...taken,
      rerun_of: earlier.id,
      rerun_from: ready.rerun_from ?? null,
      callback_url: run.callback_url ?? null,
    };
  } catch (error) {
    // The run was erased during this request.
    if (isForeignKeyMissing(error)) throw notFound('task');
    throw error;
  }
}

/** Returns where the rerun starts; null if the earlier run has no plan and is planned again. */
function resolveStart(
  plan: StoredPlan | null,
  reached: readonly Step[],
  fromStep: string | null,
): RerunSelection | null {
  if (plan === null && fromStep === null) return null;
  const taken = plan && selectRerunSteps(plan, reached, fromStep);
  if (taken) return taken;
  const names = plan?.steps.map(({ name }) => name).join(', ');
  const message = names ? `must be one of the run's steps: ${names}` : 'must be omitted: the run has no plan';
  throw new Problem('validation_failed', 'The run has no such step.', {
    errors: [{ pointer: '/from_step', code: 'not_allowed', message }],
  });
}

/** @throws Problem `validation_failed` if no step of the run has escalated */
function answerTo({ state, escalation }: TaskRunRow, text: string, by: string): RerunAnswer {
  if (state === 'escalated' && escalation?.step) {
    return { step: escalation.step, question: escalation.reason, text, by };
  }
  throw new Problem('validation_failed', 'The run has no escalation to answer.', {
    errors: [{ pointer: '/answer', code: 'not_allowed', message: `must be omitted: the run is ${state}` }],
  });
}

/** Returns the results and documents of the kept steps, for the output of the new run. */
async function keptResultsOf(
  { database }: Dependencies,
  executionId: string,
  reached: readonly Step[],
  kept: string[],
) {
  const [results, documents] = await Promise.all([
    listStepResults(database, executionId, kept),
    listArtifacts(database, executionId),
  ]);
  const artifacts = documents.map(({ name, media_type, size, step_id, agent }) => {
    const step = reached.find(({ id }) => id === step_id)?.name ?? '';
    return { name, media_type, size, step, agent };
  });
  const cut = results.map(({ step, text }) => ({ step, text: cutText(text, OUTPUT_RESULT_BYTES).text }));
  return { kept, results: cut, artifacts };
}

/** Returns the kept steps with their ids in both runs. */
function keptSteps(reached: readonly Step[], kept: readonly Step[]): KeptStep[] {
  return kept.flatMap(({ id, name }) => {
    const there = reached.find((step) => step.name === name);
    return there ? [{ name, earlierId: there.id, id }] : [];
  });
}

/** Copies the submitted fields of a run. */
function copyRun(
  earlier: TaskRunRow,
  fresh: Pick<RunToAccept['run'], 'id' | 'created_by' | 'created_at'> & Partial<Ready>,
): RunToAccept['run'] {
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
