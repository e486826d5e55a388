import { shownStateOf } from '../src/domain/tasks/task-states.ts';
import { duration, fields, jsonText, printable, table } from './output.ts';
import type { Detail, Listed, Submitted, Usage } from './shapes.ts';

/** Formats a new run. */
export function describeSubmitted(submitted: Submitted): string {
  return fields([
    ['Run', submitted.execution_id],
    ['Status', submitted.status_url],
    ['Channel', submitted.websocket_room],
    ['Callback secret', submitted.callback_secret],
  ]);
}

/** Formats a run in detail. */
export function describeRun(run: Detail): string {
  const { progress, callback, escalation } = run;
  const head = fields([
    ['Run', run.execution_id],
    ['Title', run.title],
    ['Type', run.task_type],
    ['State', shownStateOf(run)],
    ['Progress', `${progress.percent} %, ${progress.steps_completed} of ${progress.steps_total} steps`],
    ['Submitted', run.created_at],
    ['Started', run.started_at],
    ['Paused', run.paused_at && `${run.paused_at} by ${run.paused_by ?? 'unknown'}`],
    ['Models', run.usage && describeUsage(run.usage)],
    ['Question', run.question && questionText(run.question)],
    ['Completed', run.completed_at],
    ['Duration', run.duration_ms === null ? null : duration(run.duration_ms)],
    [
      'Callback',
      callback.url && `${callback.status}, ${callback.attempts.length} attempt(s) to ${callback.url}`,
    ],
    ['Escalated', escalation && escalation.reason],
    ['Rerun of', run.rerun_of && `${run.rerun_of}${run.rerun_from ? `, from ${run.rerun_from}` : ''}`],
    ['Reruns', run.reruns.map(({ execution_id, state }) => `${execution_id} (${state})`).join(', ') || null],
  ]);
  const steps = run.steps.map((step) => [
    step.name,
    step.agent,
    step.status,
    step.kept ? 'kept' : step.attempt > 1 ? step.attempt : '',
    step.duration_ms === null ? '' : duration(step.duration_ms),
    step.summary ?? step.error?.message ?? '',
  ]);
  const errors = run.errors.map(
    ({ code, message, step }) => `  ${code}${step === null ? '' : ` in ${step}`}: ${message}`,
  );
  return [
    head,
    ...(steps.length === 0
      ? []
      : ['', table(['STEP', 'AGENT', 'STATUS', 'ATTEMPT', 'DURATION', 'SUMMARY'], steps)]),
    ...(errors.length === 0 ? [] : ['', 'Errors', ...errors.map((line) => `  ${printable(line.trim())}`)]),
    ...(run.output === null ? [] : ['', 'Output', jsonText(run.output, 2)]),
  ].join('\n');
}

/** Formats the open question of a run, with its id for `baton task continue --question`. */
function questionText({ id, agent, step, text }: NonNullable<Detail['question']>): string {
  return `${agent} in ${step}: ${text}${id === undefined ? '' : ` (question ${id})`}`;
}

function describeUsage({ input_tokens, output_tokens, model_calls = 0, cost_usd }: Usage): string {
  const cost = cost_usd === undefined ? '' : `, USD ${cost_usd.toFixed(4)}`;
  return `${model_calls} call(s), ${input_tokens} tokens in, ${output_tokens} out${cost}`;
}

/** Formats a list of runs. */
export function describeListed(runs: readonly Listed[]): string {
  if (runs.length === 0) return 'No runs';
  const rows = runs.map((run) => [
    run.execution_id,
    shownStateOf(run),
    `${run.progress.percent} %`,
    run.task_type,
    run.created_at,
    run.duration_ms === null ? null : duration(run.duration_ms),
    run.callback.status,
    run.title,
  ]);
  return table(['RUN', 'STATE', 'DONE', 'TYPE', 'SUBMITTED', 'DURATION', 'CALLBACK', 'TITLE'], rows);
}
