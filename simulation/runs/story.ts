import type { Rehearsal } from '../../src/domain/tasks/rehearsal.ts';
import type { TaskType } from '../../src/domain/tasks/task-run.ts';
import {
  asOften,
  faultOf,
  FAULTS,
  gapMs,
  interrupted,
  isFault,
  lastingOf,
  type FaultStep,
} from '../story.ts';
import { createRandom, type Random } from '../world/random.ts';
import { RECEIVER_MODES, type ReceiverMode } from '../world/receivers.ts';

/** What callers request for a run. `retry`: a manual retry of its callback. */
export const REQUESTS = ['pause', 'continue', 'cancel', 'read', 'retry'] as const;
/** What operators do in the Temporal Web UI. */
export const OPERATIONS = ['terminate', 'cancel in Temporal', 'pause in Temporal'] as const;
/** Workflows without a run of their own that operators terminate: of callbacks and of their manual retries. */
const TERMINATED = 'terminate callback';

/** A task that a caller submits, `copies` times. `key`: the number of its idempotency key; null: without one. */
export type Submission = {
  taskType: TaskType;
  rehearsal: Rehearsal;
  receiver: number | null;
  key: number | null;
  copies: number;
};

/** An action in a world of runs. Indexes count from zero, modulo the number of objects; those of runs from the newest run. */
export type RunStep = { at: number } & (
  | FaultStep
  | { kind: 'submit'; task: Submission }
  | { kind: (typeof REQUESTS)[number] | (typeof OPERATIONS)[number]; run: number }
  | { kind: 'receiver'; receiver: number; mode: ReceiverMode }
  | { kind: typeof TERMINATED; workflow: number }
);

/** Everything that a run of the world depends on. */
export type RunStory = {
  seed: number;
  workers: number;
  /** Number of events from which a run continues as a new execution; null: as in production. */
  historyEvents: number | null;
  /** How each receiver of callbacks begins. */
  receivers: ReceiverMode[];
  /** Time in milliseconds after which somebody who follows a run answers its question; null: nobody follows it. */
  answeredAfterMs: number | null;
  steps: RunStep[];
};

/** Kinds of steps by how often they occur. In calm stories, nothing breaks. */
const COMMON: [RunStep['kind'], number][] = [
  ['submit', 6],
  ['pause', 5],
  ['continue', 6],
  ['cancel', 2],
  ['read', 4],
  ['retry', 2],
  ['receiver', 3],
  ['terminate', 1],
  ['cancel in Temporal', 1],
  ['pause in Temporal', 1],
];

const INTERRUPTIONS: [RunStep['kind'], number][] = [
  ['stop', 5],
  ['api stop', 1],
  ['terminate', 2],
  [TERMINATED, 3],
];

/** Longest times between two steps of a short story, in milliseconds. */
const SHORT_GAPS_MS = [5, 30, 30, 200, 2_000, 10_000];

/** Returns the story of a seed. */
export function createRunStory(seed: number): RunStory {
  const random = createRandom(`runs ${seed}`);
  const isCalm = random.chance(0.3);
  const kinds = asOften(isCalm ? COMMON : [...COMMON, ...FAULTS]);
  const receivers = Array.from({ length: random.between(1, 3) }, () =>
    random.chance(0.4) ? 'good' : random.pick(RECEIVER_MODES),
  );
  const steps: RunStep[] = [{ at: 10, kind: 'submit', task: submissionOf(random) }];
  const length = random.between(3, 20);
  // Most stories take seconds, so that everything happens while a run starts, continues or ends.
  const isShort = random.chance(0.7);
  for (let at = 10; steps.length <= length; ) {
    at += isShort ? random.between(0, random.pick(SHORT_GAPS_MS)) : gapMs(random);
    steps.push({ at, ...stepOf(random.pick(kinds), random) });
  }
  return {
    seed,
    workers: random.between(1, 3),
    historyEvents: random.pick([null, 10, 15, 30, 60]),
    receivers,
    answeredAfterMs: createRandom(`answers ${seed}`).pick([null, 1, 50, 1_000]),
    steps: interrupted(steps, createRandom(`interrupting runs ${seed}`), INTERRUPTIONS, stepOf),
  };
}

function stepOf(kind: RunStep['kind'], random: Random) {
  const index = random.between(0, 9);
  if (isFault(kind)) return faultOf(kind, index, lastingOf(random));
  if (kind === 'submit') return { kind, task: submissionOf(random) };
  if (kind === 'receiver') return { kind, receiver: index, mode: random.pick(RECEIVER_MODES) };
  if (kind === TERMINATED) return { kind, workflow: index };
  // Mostly a recent run.
  return { kind, run: random.pick([0, 0, 0, index]) };
}

function submissionOf(random: Random): Submission {
  return {
    taskType: random.pick(['feature', 'bug', 'chore'] as const),
    rehearsal: scriptOf(random),
    receiver: random.chance(0.7) ? random.between(0, 2) : null,
    key: random.chance(0.6) ? random.between(0, 3) : null,
    copies: random.pick([1, 1, 2, 3]),
  };
}

/** Returns a script of a simulated run. Short steps run in the worker of the workflow, others as activities. */
function scriptOf(random: Random): Rehearsal {
  const steps = random.between(1, 4);
  const step = random.between(1, steps);
  const maybe = <Value>(probability: number, value: Value) => (random.chance(probability) ? value : null);
  const start_ms = maybe(0.2, 3_000);
  const plan_ms = maybe(0.2, 2_000);
  const fail = maybe(0.2, { step, times: random.between(1, 3) });
  const ask = maybe(0.25, { step, question: 'May I?' });
  const unrecoverable = maybe(0.1, { step });
  const escalate = maybe(0.15, { step, reason: 'a person must decide' });
  return {
    steps,
    step_ms: random.pick([0, 100, 400, 3_000, 3_000, 20_000]),
    ...(random.chance(0.3) ? { progress_events: random.between(1, 6) } : {}),
    ...(start_ms === null ? {} : { start_ms }),
    ...(plan_ms === null ? {} : { plan_ms }),
    ...(fail === null ? {} : { fail }),
    ...(ask === null ? {} : { ask }),
    ...(unrecoverable === null ? {} : { unrecoverable }),
    ...(escalate === null ? {} : { escalate }),
  };
}
