import type { Rehearsal } from '../../src/domain/rehearsal.ts';
import type { TaskState } from '../../src/domain/task-states.ts';

/** How one task is played, and what must have become of it whatever happens to the service meanwhile. */
export type Script = {
  rehearsal: Rehearsal;
  state: TaskState;
  /** Status and number of attempts of each step. */
  steps: readonly (readonly [status: string, attempt: number])[];
};

const STEPS = 6;
const done = (attempt = 1) => ['completed', attempt] as const;
const failed = ['failed', 1] as const;
const skipped = ['skipped', 0] as const;

/** The first of every four completes, the second one recovers, the third can't, the fourth asks for a human. */
const KINDS: readonly { play: Rehearsal; state: TaskState; steps: Script['steps'] }[] = [
  { play: {}, state: 'completed', steps: [done(), done(), done(), done(), done(), done()] },
  {
    play: { fail: { step: 3, times: 1 } },
    state: 'completed',
    steps: [done(), done(), done(2), done(), done(), done()],
  },
  {
    play: { unrecoverable: { step: 5 } },
    state: 'failed',
    steps: [done(), done(), done(), done(), failed, skipped],
  },
  {
    play: { escalate: { step: 5, reason: 'A person must decide.' } },
    state: 'escalated',
    steps: [done(), done(), done(), done(), failed, skipped],
  },
];

/** `count` scripts of all kinds, each of about 2 to 5 seconds in steps of 300 to 800 ms with progress on the way. */
export function mixedScripts(count: number): Script[] {
  return Array.from({ length: count }, (_, index) => {
    const kind = KINDS[index % KINDS.length];
    if (!kind) throw new RangeError('no such kind');
    const step_ms = 300 + ((index * 137) % 501);
    return {
      rehearsal: { steps: STEPS, step_ms, progress_events: 4, ...kind.play },
      state: kind.state,
      steps: kind.steps,
    };
  });
}

/** A short task, for submissions on the way. */
export const SHORT: Script = {
  rehearsal: { steps: 1, step_ms: 300, progress_events: 2 },
  state: 'completed',
  steps: [done()],
};
