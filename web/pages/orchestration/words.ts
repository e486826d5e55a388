import type { Progress } from '../../../src/domain/task-run.ts';
import { isTerminal, type TaskState } from '../../../src/domain/task-states.ts';

/** `2 of 5 · review`, `5 of 5 steps`. */
export function progressWords({ state, progress }: { state: TaskState; progress: Progress }): string {
  const { steps_completed, steps_total, current_step } = progress;
  if (steps_total === 0) return isTerminal(state) ? 'no steps' : 'no steps yet';
  const step = current_step === null ? ' steps' : ` · ${current_step}`;
  return `${steps_completed} of ${steps_total}${step}`;
}

/** Who did something, without the word for what they are: `ada@example.com`, `key bt_k3f9`. */
export function whoIs(label: string): string {
  if (label.startsWith('user:')) return label.slice('user:'.length);
  return label.replace(/^(key|token|temporal):\s*/, '$1 ');
}
