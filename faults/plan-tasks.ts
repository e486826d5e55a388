import type { Rehearsal } from '../src/domain/tasks/rehearsal.ts';
import type { TaskState } from '../src/domain/tasks/task-states.ts';
import type { Random } from '../test/support/random.ts';

/** A command of the caller for a run in progress. */
export type Command = 'pause' | 'continue' | 'cancel';

/** A planned submission with the caller's commands. Times in milliseconds. */
export type PlannedTask = {
  /** The value in the run's metadata and the `Idempotency-Key`. */
  mark: string;
  at: number;
  script: Script;
  rehearsal: Rehearsal;
  /** The possible final states if the run is not cancelled. */
  finalStates: TaskState[];
  /** `after`: since the response to the submission. */
  commands: { after: number; command: Command }[];
  withCallback: boolean;
  /** Whether the submission is given up after a failure instead of sent again. */
  givesUp: boolean;
  viewers: number;
  /** The seed of the viewers' random choices. */
  viewerSeed: number;
};

type Script =
  | 'completes'
  | 'recovers'
  | 'fails'
  | 'escalates'
  | 'is asked'
  | 'is paused'
  | 'is cancelled'
  | 'is cancelled while paused';

const SCRIPTS: readonly Script[] = [
  'completes',
  'completes',
  'recovers',
  'fails',
  'escalates',
  'is asked',
  'is paused',
  'is paused',
  'is cancelled',
  'is cancelled while paused',
];
const SUBMIT_INTERVAL_MS = 900;

/** Plans about one submission a second, with all scripts in random order. */
export function planTasks(random: Random, loadMs: number): PlannedTask[] {
  const tasks: PlannedTask[] = [];
  let scripts: Script[] = [];
  for (let at = 500; at < loadMs; at += random.whole(SUBMIT_INTERVAL_MS / 2, SUBMIT_INTERVAL_MS * 1.5)) {
    if (scripts.length === 0) scripts = shuffle(random, SCRIPTS);
    tasks.push(planTask(random, scripts.pop() ?? 'completes', `task-${tasks.length + 1}`, at));
  }
  return tasks;
}

function planTask(random: Random, script: Script, mark: string, at: number): PlannedTask {
  const steps = random.whole(3, 6);
  const hasCommands = script.startsWith('is ') && script !== 'is asked';
  const step_ms = hasCommands ? random.whole(800, 1_500) : random.whole(0, 900);
  const rehearsal = { steps, step_ms, progress_events: random.whole(0, 4) };
  return {
    mark,
    at,
    script,
    rehearsal: { ...rehearsal, ...planIncident(random, script, steps) },
    finalStates: [script === 'fails' ? 'failed' : script === 'escalates' ? 'escalated' : 'completed'],
    commands: planCommands(random, script),
    withCallback: random.next() < 0.75,
    givesUp: random.next() < 0.15,
    viewers: random.of([0, 1, 2]),
    viewerSeed: random.whole(1, 2 ** 31),
  };
}

function planIncident(random: Random, script: Script, steps: number): Rehearsal {
  const step = random.whole(2, steps);
  if (script === 'recovers') return { fail: { step, times: 1 } };
  if (script === 'fails') return { unrecoverable: { step } };
  if (script === 'escalates') return { escalate: { step, reason: 'A person must decide.' } };
  if (script === 'is asked') return { ask: { step, question: 'May this continue?' } };
  return {};
}

function planCommands(random: Random, script: Script): PlannedTask['commands'] {
  const first = random.whole(300, 1_500);
  const second = first + random.whole(800, 3_000);
  if (script === 'is paused') {
    return [
      { after: first, command: 'pause' },
      { after: second, command: 'continue' },
    ];
  }
  if (script === 'is cancelled') return [{ after: first, command: 'cancel' }];
  if (script === 'is cancelled while paused') {
    return [
      { after: first, command: 'pause' },
      { after: second, command: 'cancel' },
    ];
  }
  return [];
}

/** Returns the items in random order. */
export function shuffle<T>(random: Random, items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, order: random.next() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ item }) => item);
}
