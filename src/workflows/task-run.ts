import {
  allHandlersFinished,
  ApplicationFailure,
  CancelledFailure,
  CancellationScope,
  condition,
  isCancellation,
  proxyLocalActivities,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { RunRecords } from '../activities/run-records.ts';
import type { Plan } from '../domain/tasks/plan.ts';
import { isReportedByCallback, type TaskState } from '../domain/tasks/task-states.ts';
import type { TaskRunInput } from '../temporal/task-messages.ts';
import { createRun, handleMessages, type Run } from './run-messages.ts';
import { shapePlan } from './shape-plan.ts';
import { runSteps } from './steps.ts';
import { sendCallbackOf } from './task-callback.ts';
import { until } from './until.ts';

const { planRun, endRun } = proxyLocalActivities<RunRecords>({
  startToCloseTimeout: '30 s',
  retry: { initialInterval: '200 ms', maximumInterval: '5 s' },
});

/**
 * Runs one submitted task from `initializing` to its end. The workflow id is the execution id. In Temporal, a `failed`
 * run ends as Failed and one that was cancelled in the Web UI as Canceled. All others end as Completed, with the state
 * as their result.
 */
export async function taskRun(input: TaskRunInput): Promise<{ state: TaskState }> {
  const root = CancellationScope.current();
  const run = createRun(input);
  const { recorder } = run;
  handleMessages(run);

  const ending = await CancellationScope.nonCancellable(async () => {
    const end = await runUntilEnd(run);
    await recorder.flush();
    return end;
  });

  if (recorder.isGone) return { state: recorder.shown.state };
  if (isReportedByCallback(recorder.shown.state) && input.hasCallback && !run.calledBack) {
    await CancellationScope.nonCancellable(() => sendCallbackOf(input.executionId));
  }
  await CancellationScope.nonCancellable(() => until(allHandlersFinished));
  if (ending.kind === 'failed') throw ApplicationFailure.nonRetryable(ending.message, 'RunFailed');
  // The server accepts Canceled only if it was itself asked to cancel the workflow.
  if (ending.kind === 'cancelled' && root.consideredCancelled)
    throw new CancelledFailure('the run was cancelled');
  return { state: recorder.shown.state };
}

type Ending = { kind: 'done' } | { kind: 'cancelled' } | { kind: 'failed'; message: string };

/** Runs the task in the scope `work` and moves the state to its end state, whatever ended it. */
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
  const { input, state, recorder, questions } = run;
  const { executionId, rehearsal } = input;
  const unpaused = () => until(() => !state.isPaused);

  if (rehearsal?.start_ms) {
    await recorder.flush();
    await sleep(rehearsal.start_ms);
  }
  const hasWaited = Boolean(rehearsal?.start_ms) || state.isPaused;
  await unpaused();
  // A first workflow task that is repeated after a crash has a later clock. The start time stays.
  state.begin(hasWaited ? Date.now() : workflowInfo().startTime.getTime());
  const planning = await recorder.recordWith((change) => planRun(change, planningOf(input)));
  if (planning === null) return;
  run.callsBackAtOnce = planning.callsBackAtOnce === true;
  let { planned } = planning;
  if (rehearsal?.plan_ms) {
    await recorder.flush();
    await sleep(rehearsal.plan_ms);
  }
  if ('plan' in planned && planned.toShape) {
    await recorder.flush();
    planned = await shapePlan(input, planned.plan, () => state.isPaused);
  }
  await unpaused();
  if ('error' in planned) {
    state.addError('planning_failed', planned.error, Date.now());
    state.end('failed', null, Date.now());
    return;
  }

  const { plan } = planned;
  state.agentsChosen(plan, Date.now());
  const clock = new CancellationScope();
  const watch = clock.run(() => watchTimeLimit(run, plan)).catch(ignoreCancellation);
  try {
    const outcome = await runSteps({ executionId, plan, rehearsal, state, recorder, questions });
    if (state.isPaused) await recorder.flush();
    await unpaused();
    const end = { completed: 'completed', unrecoverable: 'failed', escalated: 'escalated' } as const;
    state.end(end[outcome], null, Date.now());
  } finally {
    clock.cancel();
    await watch;
  }
}

/** Cancels the work when the active time of the run, without pauses, reaches the limit of its plan. */
async function watchTimeLimit(run: Run, { run_time_limit_ms: limitMs }: Plan): Promise<void> {
  const { state, work } = run;
  for (;;) {
    await until(() => !state.isPaused);
    const left = limitMs - state.activeMs(Date.now());
    if (left <= 0) {
      run.timeOver = `the run took longer than ${limitMs} ms`;
      work.cancel();
      return;
    }
    await condition(() => state.isPaused, left);
  }
}

function planningOf({ taskType, rehearsal, hasPlan }: TaskRunInput) {
  return { taskType, rehearsal, ...(hasPlan ? { hasPlan } : {}) };
}

function ignoreCancellation(error: unknown): void {
  if (!isCancellation(error)) throw error;
}
