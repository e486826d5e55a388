import type { Progress, Usage } from '../../../src/domain/tasks/run-schemas.ts';
import {
  isTerminal,
  shownStateOf,
  WAITS_FOR_ANSWER,
  type RunErrorCode,
  type StepStatus,
  type TaskState,
} from '../../../src/domain/tasks/task-states.ts';

/** Returns `2 of 5 steps · now: review` or `5 of 5 steps`. */
export function progressText({ state, progress }: { state: TaskState; progress: Progress }): string {
  const { steps_completed, steps_total, current_step } = progress;
  if (steps_total === 0) return isTerminal(state) ? 'no steps' : 'no steps yet';
  const step = current_step === null ? '' : ` · now: ${current_step}`;
  return `${steps_completed} of ${steps_total} steps${step}`;
}

/** Returns why a run failed, and whether it is a rerun: `Rerun · test: exit code 1`; empty for others. */
export function noteOf({
  state,
  errors: [error],
  rerun_of,
}: {
  state: TaskState;
  errors: readonly { code: RunErrorCode; step: string | null; message: string }[];
  rerun_of: string | null;
}): string {
  const cause =
    state === 'failed' && error ? `${error.step ?? errorTitle(error.code)}: ${error.message}` : '';
  return [rerun_of === null ? '' : 'Rerun', cause].filter(Boolean).join(' · ');
}

/** Returns `1,200 input tokens, 340 output tokens`, with calls and cost if known. */
export function usageText({ input_tokens, output_tokens, model_calls, cost_usd }: Usage): string {
  const calls = model_calls === undefined ? '' : `${plural(model_calls, 'model call')}, `;
  const cost = cost_usd === undefined ? '' : `, $${cost_usd < 1 ? cost_usd.toFixed(4) : cost_usd.toFixed(2)}`;
  return `${calls}${plural(input_tokens, 'input token')}, ${plural(output_tokens, 'output token')}${cost}`;
}

/** Returns `1 run`, `1,200 runs`. */
export function plural(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

/** Returns the name of an actor: `ada@example.com`, `key bt_k3f9`, `agent developer`, `ada (in Temporal)`. */
export function actorName(label: string): string {
  const [, kind, name = label] = /^(user|key|token|agent|temporal):\s*(.*)$/s.exec(label) ?? [];
  if (kind === undefined || kind === 'user') return name;
  return kind === 'temporal' ? `${name} (in Temporal)` : `${kind} ${name}`;
}

/** Returns `executing → paused by ada@example.com: lunch`, or `executing → waiting for an answer, asked by agent review: Which?` */
export function stateChangeText(data: Readonly<Record<string, unknown>>): string {
  const { from, to, by, reason, question, answer } = data as StateChange;
  const shown = shownStateOf({ state: to, question });
  const actor = by === undefined ? '' : actorName(by);
  if (shown === WAITS_FOR_ANSWER) return `${from} → ${shown}, asked by ${actor}: ${question?.text ?? ''}`;
  if (answer) return `${from} → ${to}, with the answer of ${actorName(answer.by)}: ${answer.text}`;
  return `${from} → ${to}${actor && ` by ${actor}`}${reason ? `: ${reason}` : ''}`;
}

type StateChange = {
  from: TaskState;
  to: TaskState;
  by?: string;
  reason?: string;
  question?: { text: string };
  answer?: { text: string; by: string };
};

/** Returns the choices of a filter by submitter: the caller, the members by name, and others by their label. */
export function submitterOptions(
  members: readonly { name: string; email: string }[],
  labels: readonly string[],
): { value: string; name: string }[] {
  const people = members.map(({ name, email }) => ({ value: `user:${email}`, name }));
  const known = new Set(['me', ...people.map(({ value }) => value)]);
  const others = [...new Set(labels)].filter((label) => !known.has(label)).toSorted();
  return [
    { value: 'me', name: 'Me' },
    ...people.toSorted((one, other) => one.name.localeCompare(other.name)),
    ...others.map((value) => ({ value, name: actorName(value) })),
  ];
}

/** Returns what follows the status of a callback without attempts: `. Cancelled runs send no callback.` */
export function callbackOutlook({
  state,
  callback,
}: {
  state: TaskState;
  callback: { status: string };
}): string {
  if (state === 'cancelled') return '. Cancelled runs send no callback.';
  if (!isTerminal(state)) return '. The callback is sent when the run ends.';
  return callback.status === 'pending' ? '. The first attempt starts shortly.' : '';
}

/** Returns the status of a step as shown: the API reports a step that escalated as failed. */
export function shownStatus(
  { name, status }: { name: string; status: StepStatus },
  { escalation }: { escalation: { step: string | null } | null },
): StepStatus | 'escalated' {
  return status === 'failed' && escalation?.step === name ? 'escalated' : status;
}

/** Returns what a person can do about an escalated run. */
export function escalationOutlook({ reruns }: { reruns: readonly unknown[] }): string {
  return reruns.length === 0
    ? 'The run has ended. Your answer reruns it from this step.'
    : 'The run has ended, and was rerun.';
}

const ERROR_TITLES: Readonly<Record<RunErrorCode, string>> = {
  step_failed: 'Step failed',
  step_timed_out: 'Step exceeded its time limit',
  planning_failed: 'Planning failed',
  run_timed_out: 'Run exceeded its time limit',
  engine_timed_out: 'Temporal ended the run after its time limit',
  engine_failed: 'Temporal ended the run with an error',
};

/** Returns an error code in words. */
export function errorTitle(code: RunErrorCode): string {
  return ERROR_TITLES[code];
}
