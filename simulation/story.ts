import type { AttemptLimits } from '../src/domain/webhooks/attempt-scheduler.ts';
import type { AttemptTrigger } from '../src/domain/webhooks/delivery.ts';
import { createRandom, type Random } from './world/random.ts';
import { RECEIVER_MODES, type ReceiverMode } from './world/receivers.ts';

/** A fault of a process, the database or the engine, for some time. */
export type FaultStep =
  | { kind: 'crash'; worker: number; forMs: number }
  | { kind: 'freeze'; worker: number; forMs: number }
  | { kind: 'api crash'; forMs: number }
  | { kind: 'stop'; worker: number; forMs: number }
  | { kind: 'api stop'; forMs: number }
  | { kind: 'store fails'; forMs: number; probability: number }
  | { kind: 'engine fails'; forMs: number; probability: number };

/** An action in a world, at a time in milliseconds since its start. Indexes count from zero, modulo the number of objects. */
export type Step = { at: number } & (
  | FaultStep
  | { kind: 'events'; workspace: number; count: number }
  | { kind: 'receiver'; webhook: number; mode: ReceiverMode }
  | { kind: 'activate'; webhook: number }
  | { kind: 'deactivate'; webhook: number }
  | { kind: 'recover'; webhook: number }
  | { kind: 'delete'; webhook: number }
  | { kind: 'retry'; delivery: number; inMs: number | null }
  | { kind: 'terminate'; workflow: number }
  | { kind: 'crash when recorded'; trigger: AttemptTrigger; forMs: number }
);

/** Everything that a run depends on. */
export type Story = {
  seed: number;
  workers: number;
  limits: AttemptLimits;
  /** The workspace of each webhook, and how its receiver begins. */
  webhooks: { workspace: number; mode: ReceiverMode }[];
  steps: Step[];
};

type Kind = Step['kind'];

/** Kinds of steps by how often they occur. In calm stories, nothing breaks. */
const COMMON: [Kind, number][] = [
  ['events', 10],
  ['receiver', 5],
  ['retry', 4],
  ['activate', 3],
  ['recover', 3],
  ['deactivate', 1],
  ['delete', 1],
];
/** Kinds of faults by how often they occur. */
export const FAULTS: [FaultStep['kind'], number][] = [
  ['crash', 3],
  ['freeze', 3],
  ['api crash', 1],
  ['store fails', 2],
  ['engine fails', 2],
];
/**
 * What interrupts work: a worker or the API stops as at SIGTERM, an operator terminates a workflow, and a worker crashes right
 * after it has recorded an attempt. By how often they occur.
 */
const INTERRUPTIONS: [Kind, number][] = [
  ['stop', 4],
  ['api stop', 1],
  ['terminate', 4],
  ['crash when recorded', 2],
];
/** Share of the stories with interruptions, and the longest times from another step to an interruption, in milliseconds. */
const INTERRUPTED = 0.4;
const INTERRUPTED_AFTER_MS = [20, 500, 3_000, 20_000, 70_000];

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Returns the story of a seed. */
export function createStory(seed: number): Story {
  const random = createRandom(`story ${seed}`);
  const isCalm = random.chance(0.3);
  const kinds = asOften(isCalm ? COMMON : [...COMMON, ...FAULTS]);
  const workspaces = random.between(1, 3);
  const perWebhook = random.between(1, 6);
  const perWorkspace = Math.max(perWebhook, random.between(2, 10));
  const steps: Step[] = [{ at: 10, kind: 'events', workspace: 0, count: random.between(1, 8) }];
  const length = random.between(4, 24);
  for (let at = 10; steps.length <= length; ) {
    at += gapMs(random);
    steps.push({ at, ...stepOf(random.pick(kinds), random) });
  }
  return {
    seed,
    workers: random.between(1, 3),
    limits: {
      perWebhook,
      perWorkspace,
      overall: Math.max(perWorkspace, random.between(3, 16)),
    },
    webhooks: Array.from({ length: random.between(1, 5) }, () => ({
      workspace: random.between(0, workspaces - 1),
      mode: random.chance(0.4) ? 'good' : random.pick(RECEIVER_MODES),
    })),
    steps: interrupted(steps, createRandom(`interruptions of deliveries ${seed}`), INTERRUPTIONS, stepOf),
  };
}

/**
 * Adds interruptions to some stories. They have random numbers of their own, so that the other steps of a seed do not depend on
 * them.
 */
export function interrupted<One extends { at: number }, Name>(
  steps: readonly One[],
  random: Random,
  kinds: readonly [Name, number][],
  stepOfKind: (kind: Name, random: Random) => Omit<One, 'at'>,
): One[] {
  if (!random.chance(INTERRUPTED)) return [...steps];
  const added = Array.from({ length: random.between(1, 3) }, () => {
    const at = random.pick(steps).at + random.between(0, random.pick(INTERRUPTED_AFTER_MS));
    return { at, ...stepOfKind(random.pick(asOften(kinds)), random) } as One;
  });
  return [...steps, ...added].toSorted((one, other) => one.at - other.at);
}

/** Returns each kind as often as its number says. */
export function asOften<T>(kinds: readonly [T, number][]): T[] {
  return kinds.flatMap(([kind, often]) => Array.from({ length: often }, () => kind));
}

/** Returns the time until the next step: mostly seconds, sometimes long enough for retries. */
export function gapMs(random: Random): number {
  const most = random.pick([5, 200, 2_000, 2_000, 40_000, 10 * MINUTE_MS, 3 * HOUR_MS]);
  return random.between(0, most);
}

/** Returns how long a fault lasts, and how probable it makes failures. */
export function lastingOf(random: Random): { forMs: number; probability: number } {
  const forMs = random.pick([500, 5_000, 20_000, 90_000, 20 * MINUTE_MS]);
  return { forMs, probability: random.pick([0.1, 0.5, 1]) };
}

/** Returns a fault. `worker` is the index of the worker that it affects, if any. */
export function faultOf(
  kind: FaultStep['kind'],
  worker: number,
  { forMs, probability }: ReturnType<typeof lastingOf>,
): FaultStep {
  if (kind === 'crash' || kind === 'freeze' || kind === 'stop') return { kind, worker, forMs };
  return kind === 'api crash' || kind === 'api stop' ? { kind, forMs } : { kind, forMs, probability };
}

export function isFault(kind: string): kind is FaultStep['kind'] {
  return kind === 'stop' || kind === 'api stop' || FAULTS.some(([fault]) => fault === kind);
}

function stepOf(kind: Kind, random: Random) {
  const webhook = random.between(0, 9);
  const lasting = lastingOf(random);
  if (isFault(kind)) return faultOf(kind, webhook, lasting);
  switch (kind) {
    case 'events':
      return { kind, workspace: webhook, count: random.pick([1, 1, 3, 12]) };
    case 'receiver':
      return { kind, webhook, mode: random.pick(RECEIVER_MODES) };
    case 'retry':
      return { kind, delivery: random.between(0, 30), inMs: random.pick([null, null, 5_000, 2 * HOUR_MS]) };
    case 'crash when recorded':
      return { kind, trigger: random.pick(['automatic', 'manual'] as const), forMs: lasting.forMs };
    case 'terminate':
      return { kind, workflow: webhook };
    default:
      return { kind, webhook };
  }
}

/** Returns a step in words. */
export function describeStep({ at, kind, ...rest }: { at: number; kind: string }): string {
  const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  const details = Object.entries(rest).map(([name, value]) => `${name} ${shown(value)}`);
  return `${(at / 1_000).toFixed(3).padStart(10)} s  ${[kind, ...details].join(', ')}`;
}
