import type { Random } from '../test/support/random.ts';
import { shuffled } from './plan-tasks.ts';

/** The processes of the service. */
export const OWN_PARTS = [
  'api-1',
  'api-2',
  'gateway-1',
  'gateway-2',
  'task-worker-1',
  'task-worker-2',
  'delivery-worker-1',
  'delivery-worker-2',
] as const;
export type OwnPart = (typeof OWN_PARTS)[number];
export const PARTS = [...OWN_PARTS, 'temporal', 'postgres'] as const;
export type PartName = (typeof PARTS)[number];

/** Webhooks of the story, each with a receiver of its own. */
export const WEBHOOKS = ['steady', 'filtered', 'flaky', 'breaking', 'clock', 'certificate'] as const;
export type WebhookName = (typeof WEBHOOKS)[number];

/** A way over which two talk, each with a proxy of its own in between. */
export type LinkName =
  | `${OwnPart} to postgres`
  | `${OwnPart} to temporal`
  | `callers to ${'api-1' | 'api-2'}`
  | `viewers to ${'gateway-1' | 'gateway-2'}`
  | `service to ${WebhookName | 'callbacks'}`;

export const LINKS: readonly LinkName[] = [
  ...OWN_PARTS.map((part) => `${part} to postgres` as const),
  ...OWN_PARTS.map((part) => `${part} to temporal` as const),
  'callers to api-1',
  'callers to api-2',
  'viewers to gateway-1',
  'viewers to gateway-2',
  'service to steady',
  'service to flaky',
  'service to callbacks',
];

/**
 * How a way is cut. `reset`: every connection is broken off, new ones are refused. `drop`: nothing gets through and
 * nobody is told, and what was on its way is lost. `stall`: the same, but it arrives in the end. `delay`: everything
 * takes longer.
 */
export const CUTS = ['reset', 'drop', 'stall', 'delay'] as const;
export type Cut = (typeof CUTS)[number];

/** What is done to whom, when, and for how long; milliseconds. */
export type Disturbance = { at: number; lasts: number; lane: Lane } & (
  | { kind: 'kill' | 'freeze' | 'restart'; part: PartName }
  | { kind: 'cut'; link: LinkName; how: Cut; delayMs: number }
  | { kind: 'disk' | 'clock' | 'certificate' | 'refusals' }
);
/** Disturbances of one lane follow each other; the lanes go on side by side. */
export type Lane = 'processes' | 'ways' | 'receivers';

const BEGINS_MS = 6_000;
/** Of the turns of the processes, the one in which the disk is full. */
const DISK_TURN = 5;
const LEAST_SLOT_MS = { processes: 12_500, ways: 7_500 };

/** All disturbances in the order of their times. Where the time allows it, each kind is done to each part once. */
export function planDisturbances(random: Random, loadMs: number): Disturbance[] {
  return [...ofProcesses(random, loadMs), ...ofWays(random, loadMs), ...ofReceivers(random, loadMs)].toSorted(
    (a, b) => a.at - b.at,
  );
}

/** Each part in its turn, until each has had every kind; the full disk is one of them. */
function ofProcesses(random: Random, loadMs: number): Disturbance[] {
  const kinds = ['kill', 'freeze', 'restart'] as const;
  const rounds = [0, 1, 2].map((round) =>
    shuffled(random, PARTS).map((part) => ({
      part,
      kind: kinds[(round + PARTS.indexOf(part)) % kinds.length] ?? 'kill',
    })),
  );
  const turns = rounds.flat();
  return slots(loadMs, turns.length + 1, LEAST_SLOT_MS.processes).map((at, index): Disturbance => {
    const base = { at: at + random.whole(0, 1_500), lane: 'processes' as const };
    if (index === DISK_TURN) return { ...base, lasts: random.whole(3_000, 6_000), kind: 'disk' };
    const turn = turns[index > DISK_TURN ? index - 1 : index] ?? { part: 'api-1', kind: 'kill' };
    return { ...base, lasts: lengthOf(random, turn.kind), ...turn };
  });
}

function lengthOf(random: Random, kind: 'kill' | 'freeze' | 'restart'): number {
  if (kind === 'restart') return 0;
  // Longer than 8 s a frozen worker counts as dead, and comes back to find its work done.
  return kind === 'kill' ? random.whole(500, 4_000) : random.of([2_000, 5_000, 11_000]);
}

function ofWays(random: Random, loadMs: number): Disturbance[] {
  const rounds = [0, 1, 2, 3].map((round) =>
    shuffled(random, LINKS).map((link) => ({
      link,
      how: CUTS[(round + LINKS.indexOf(link)) % CUTS.length] ?? 'reset',
    })),
  );
  const turns = rounds.flat();
  return slots(loadMs, turns.length, LEAST_SLOT_MS.ways).map((at, index): Disturbance => {
    const { link, how } = turns[index] ?? { link: 'callers to api-1', how: 'reset' };
    return {
      at: at + random.whole(0, 1_000),
      lasts: random.whole(2_000, 5_500),
      lane: 'ways',
      kind: 'cut',
      link,
      how,
      delayMs: how === 'delay' ? random.whole(100, 500) : 0,
    };
  });
}

/**
 * What befalls the receivers themselves, early enough that the schedule's first retry, after a minute, is seen. In a
 * long story it befalls them again.
 */
function ofReceivers(random: Random, loadMs: number): Disturbance[] {
  const lane = 'receivers' as const;
  const found: Disturbance[] = [];
  for (let round = 0; round === 0 || round + 200_000 < loadMs; round += 200_000) {
    const at = (ms: number) => round + ms + random.whole(0, 4_000);
    found.push(
      { at: at(12_000), lasts: 28_000, lane, kind: 'clock' },
      { at: at(16_000), lasts: 28_000, lane, kind: 'certificate' },
      { at: at(22_000), lasts: 25_000, lane, kind: 'refusals' },
    );
  }
  return found;
}

/** Times for at most `wanted` turns, evenly over the time there is. */
function slots(loadMs: number, wanted: number, leastMs: number): number[] {
  const room = loadMs - BEGINS_MS - leastMs;
  const count = Math.max(1, Math.min(wanted, Math.floor(room / leastMs)));
  return Array.from({ length: count }, (_, index) => Math.round(BEGINS_MS + (index * room) / count));
}
