import type { Rehearsal } from '../../src/domain/tasks/rehearsal.ts';
import type { TaskState } from '../../src/domain/tasks/task-states.ts';

/** The rehearsal of a task, and its expected end, whatever happens to the service. */
export type Script = {
  rehearsal: Rehearsal;
  state: TaskState;
  /** Status and number of attempts of each step. */
  steps: readonly (readonly [status: string, attempt: number])[];
};

const done = (attempt = 1) => ['completed', attempt] as const;
const failed = ['failed', 1] as const;
const skipped = ['skipped', 0] as const;

type Kind = Omit<Script, 'rehearsal'> & { play: Rehearsal };

/** Returns four kinds of runs: complete, recover in step 2, fail in the last step but one, and escalate there. */
function kindsOf(steps: number): readonly Kind[] {
  const all = (count: number) => Array.from({ length: count }, () => done());
  const broken = [...all(steps - 2), failed, skipped];
  return [
    { play: {}, state: 'completed', steps: all(steps) },
    {
      play: { fail: { step: 2, times: 1 } },
      state: 'completed',
      steps: [done(), done(2), ...all(steps - 2)],
    },
    { play: { unrecoverable: { step: steps - 1 } }, state: 'failed', steps: broken },
    {
      play: { escalate: { step: steps - 1, reason: 'A person must decide.' } },
      state: 'escalated',
      steps: broken,
    },
  ];
}

function scriptsOf(count: number, steps: number, timing: (index: number) => Rehearsal): Script[] {
  const kinds = kindsOf(steps);
  return Array.from({ length: count }, (_, index) => {
    const kind = kinds[index % kinds.length];
    if (!kind) throw new RangeError('no such kind');
    return { rehearsal: { steps, ...timing(index), ...kind.play }, state: kind.state, steps: kind.steps };
  });
}

/** Returns `count` scripts of all kinds, each of 3 to 6 seconds in steps of 500 to 1,000 ms with progress reports. */
export function mixedScripts(count: number): Script[] {
  return scriptsOf(count, 6, (index) => ({ step_ms: 500 + ((index * 137) % 501), progress_events: 4 }));
}

/** Returns `count` scripts of all kinds with three steps that take no time. */
export function briefScripts(count: number): Script[] {
  return scriptsOf(count, 3, () => ({}));
}

/** A short task. */
export const SHORT: Script = {
  rehearsal: { steps: 1, step_ms: 300, progress_events: 2 },
  state: 'completed',
  steps: [done()],
};
