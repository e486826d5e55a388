import {
  allHandlersFinished,
  ApplicationFailure,
  CancelledFailure,
  CancellationScope,
  condition,
  isCancellation,
  patched,
  proxyLocalActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { RunRecords } from '../activities/run-records.ts';
import type { Plan } from '../domain/tasks/plan.ts';
import { isReportedByCallback, type TaskState } from '../domain/tasks/task-states.ts';
import type { TaskRunInput } from '../temporal/task-messages.ts';
import type { CarriedRun, Planned, StageOf } from './carried-run.ts';
import { sleepOrContinue, untilOrContinue } from './continuation.ts';
import { createRun, type Run } from './run.ts';
import { handleMessages } from './run-messages.ts';
import { shapePlan } from './shape-plan.ts';
import { runSteps, withoutOutputs } from './steps.ts';
import { sendCallbackOf } from './task-callback.ts';
import { until } from './until.ts';

const { planRun, endRun } = proxyLocalActivities<RunRecords>({
  startToCloseTimeout: '30 s',
  retry: { initialInterval: '200 ms', maximumInterval: '5 s' },
});

/**
 * Runs one submitted task from `initializing` to its end. The workflow id is the execution id. In Temporal, a `failed`
 * run ends as Failed and one that was cancelled in the Web UI as Canceled. All others end as Completed, with the state
 * as their result. A run with a long history continues as a new execution, whose input is `carried`.
 */
export async function taskRun(
  started: TaskRunInput | null,
  carried: CarriedRun | null = null,
): Promise<{ state: TaskState }> {
  const input = carried?.input ?? started;
  if (input === null) throw ApplicationFailure.nonRetryable('the input is missing');
  const root = CancellationScope.current();
  const run = createRun(input, carried);
  const { recorder } = run;
  handleMessages(run);

  const ending = await CancellationScope.nonCancellable(async () => {
    await run.signals.started();
    const end = await runUntilEnd(run);
    await recorder.flush();
    return end;
  });

  if (recorder.isGone) {
    await CancellationScope.nonCancellable(() => until(() => run.agents.areSettled));
    return await endAsRecorded(run);
  }
  if (isReportedByCallback(recorder.shown.state) && input.hasCallback && !run.calledBack) {
    await CancellationScope.nonCancellable(() => sendCallbackOf(input.executionId));
  }
  await CancellationScope.nonCancellable(() => until(() => allHandlersFinished() && run.agents.areSettled));
  if (ending.kind === 'failed') throw ApplicationFailure.nonRetryable(ending.message, 'RunFailed');
  // The server accepts Canceled only if it was itself asked to cancel the workflow.
  if (ending.kind === 'cancelled' && root.consideredCancelled)
    throw new CancelledFailure('the run was cancelled');
  return { state: recorder.shown.state };
}

/**
 * Ends the workflow of a run whose row has ended, or is gone. The process of an earlier try of the same workflow task may
 * have recorded the end, and may have died before its callback was delivered.
 */
async function endAsRecorded({ input, recorder }: Run): Promise<{ state: TaskState }> {
  const { endedAs, shown } = recorder;
  if (endedAs === null || !patched('ends-as-recorded')) return { state: shown.state };
  if (patched('shows-the-recorded-end')) recorder.showRecordedEnd();
  if (isReportedByCallback(endedAs) && input.hasCallback)
    await CancellationScope.nonCancellable(() => sendCallbackOf(input.executionId));
  if (endedAs === 'failed') throw ApplicationFailure.nonRetryable('the run failed', 'RunFailed');
  return { state: endedAs };
}

type Ending = { kind: 'done' } | { kind: 'cancelled' } | { kind: 'failed'; message: string };

/** Runs the task in the scope `work` and moves the state to its end state, however the work ends. */
async function runUntilEnd(run: Run): Promise<Ending> {
  const { input, state, recorder, work } = run;
  try {
    await work.run(() => runTask(run));
  } catch (error) {
    if (!isCancellation(error)) throw error;
    if (recorder.isGone) return { kind: 'done' };
    if (run.timeOver === null || run.cancel) {
      state.end('cancelled', run.cancel ?? { by: 'temporal' }, Date.now());
      return { kind: 'cancelled' };
    }
    state.addError('run_timed_out', run.timeOver, Date.now());
    state.end('failed', null, Date.now());
  }
  if (run.callsBackAtOnce && input.hasCallback) {
    const ended = await recorder.recordEndWith((change) => endRun(change));
    run.calledBack = ended?.calledBack === true;
  }
  await recorder.flush();
  const { state: end, errors } = recorder.shown;
  return end === 'failed'
    ? { kind: 'failed', message: errors.at(-1)?.message ?? 'the run failed' }
    : { kind: 'done' };
}

/**
 * Runs the task: initializing → planning → executing → completed, failed or escalated. Waits wherever the run is
 * paused.
 */
async function runTask(run: Run): Promise<void> {
  const { state, recorder } = run;
  const stage = run.stage?.kind === 'executing' ? run.stage : await reachExecution(run, run.stage);
  if (stage === null) return;
  const { plan } = stage;
  const clock = new CancellationScope();
  const watch = clock.run(() => watchTimeLimit(run, plan)).catch(ignoreCancellation);
  try {
    const outcome = stage.outcome ?? (await runSteps(run, stage.plan, stage.slots));
    // The steps that asked are stopped. Only a pause that a person requested holds the end.
    if (outcome !== 'completed' && state.isPaused && patched('withdraws-questions'))
      state.withdrawQuestions(Date.now());
    if (state.isPaused) await recorder.flush();
    await untilOrContinue(
      run,
      () => !state.isPaused,
      () => (run.agents.areSettled ? { ...stage, plan: withoutOutputs(plan), slots: [], outcome } : null),
    );
    const end = { completed: 'completed', unrecoverable: 'failed', escalated: 'escalated' } as const;
    state.end(end[outcome], null, Date.now());
  } finally {
    clock.cancel();
    await watch;
  }
}

/** Plans the run. Returns null if there is nothing to execute. */
async function reachExecution(
  run: Run,
  stage: StageOf<'starting' | 'planning'> | null,
): Promise<StageOf<'executing'> | null> {
  const { state } = run;
  const planning = stage?.kind === 'planning' ? stage : await startPlanning(run, stage);
  if (planning === null) return null;
  const planned = await finishPlanning(run, planning);
  if ('error' in planned) {
    state.addError('planning_failed', planned.error, Date.now());
    state.end('failed', null, Date.now());
    return null;
  }
  state.agentsChosen(planned.plan, Date.now());
  return { kind: 'executing', plan: planned.plan, slots: null, outcome: null };
}

/** initializing → planning. Returns null if the run is gone. */
async function startPlanning(
  run: Run,
  stage: StageOf<'starting'> | null,
): Promise<StageOf<'planning'> | null> {
  const { input, state, recorder } = run;
  const startMs = input.rehearsal?.start_ms;
  let dueAt = stage?.until ?? null;
  const stageOf = () => ({ kind: 'starting' as const, until: dueAt });
  if (startMs) {
    await recorder.flush();
    dueAt ??= Date.now() + startMs;
    await sleepOrContinue(run, dueAt, stageOf);
  }
  const hasWaited = stage !== null || Boolean(startMs) || state.isPaused;
  await untilOrContinue(run, () => !state.isPaused, stageOf);
  // Otherwise the run starts with its workflow, before all its pauses.
  const isPausedBefore = hasWaited && state.pausedMs > 0 && patched('pauses-before-the-start');
  // A first workflow task that is repeated after a crash has a later clock. The start time stays.
  const startedAt = hasWaited ? Date.now() : workflowInfo().startTime.getTime();
  state.begin(startedAt, isPausedBefore ? state.pausedMs : 0);
  const planning = await recorder.recordWith((change) => planRun(change, planningOf(input)));
  if (planning === null) return null;
  run.callsBackAtOnce = planning.callsBackAtOnce === true;
  return { kind: 'planning', planned: planning.planned, until: null, child: null };
}

/** Waits for the planner, if there is one, and for the end of a pause. */
async function finishPlanning(run: Run, stage: StageOf<'planning'>): Promise<Planned> {
  const { input, state, recorder } = run;
  const planMs = input.rehearsal?.plan_ms;
  let { planned, until: dueAt } = stage;
  const stageOf = () => ({ ...stage, planned, until: dueAt });
  if (planMs) {
    await recorder.flush();
    dueAt ??= Date.now() + planMs;
    await sleepOrContinue(run, dueAt, stageOf);
  }
  if ('plan' in planned && planned.toShape) {
    await recorder.flush();
    planned = await shapePlan(run, planned.plan, stage);
    if (run.signals.areWaiting) await run.signals.settled();
  }
  await untilOrContinue(run, () => !state.isPaused, stageOf);
  return planned;
}

/** Cancels the work when the active time of the run, without pauses, reaches the limit of its plan. */
async function watchTimeLimit(run: Run, { run_time_limit_ms: limitMs }: Plan): Promise<void> {
  const { state, work, signals } = run;
  for (;;) {
    await until(() => !state.isPaused);
    const left = limitMs - state.activeMs(Date.now());
    if (left <= 0) {
      run.timeOver = `the run took longer than ${limitMs} ms`;
      work.cancel();
      return;
    }
    const isPaused = await condition(() => state.isPaused, left);
    // The end of a pause in the Web UI changes what is left.
    if (!isPaused && signals.areWaiting) await signals.settled();
  }
}

function planningOf({ taskType, rehearsal, hasPlan }: TaskRunInput) {
  return { taskType, rehearsal, ...(hasPlan ? { hasPlan } : {}) };
}

function ignoreCancellation(error: unknown): void {
  if (!isCancellation(error)) throw error;
}
