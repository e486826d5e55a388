import type { Random } from '../test/support/random.ts';
import { shuffle } from './plan-tasks.ts';

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

/** The webhooks of the scenario, each with a separate receiver. */
export const WEBHOOKS = ['steady', 'filtered', 'flaky', 'breaking', 'clock', 'certificate'] as const;
export type WebhookName = (typeof WEBHOOKS)[number];

/** A connection between two processes. Each has a separate proxy. */
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
 * How a connection fails. `reset`: connections break and new ones are refused. `drop`: data is discarded silently,
 * including data in transit. `stall`: data is held back and arrives at the end. `delay`: data arrives later.
 */
export const DISCONNECT_MODES = ['reset', 'drop', 'stall', 'delay'] as const;
export type DisconnectMode = (typeof DISCONNECT_MODES)[number];

/** A fault with its target, its time and its duration, in milliseconds. */
export type PlannedFault = { at: number; durationMs: number; lane: Lane } & (
  | { kind: 'kill' | 'freeze' | 'restart'; part: PartName }
  | { kind: 'disconnect'; link: LinkName; mode: DisconnectMode; delayMs: number }
  | { kind: 'disk' | 'clock' | 'certificate' | 'refusals' }
);
/** Faults of one lane follow each other. The lanes run concurrently. */
export type Lane = 'processes' | 'connections' | 'receivers';

const FIRST_FAULT_MS = 6_000;
/** The turn of the processes in which the disk is full. */
const DISK_TURN = 5;
/** In a long scenario, Temporal is away for a minute at the end of the load. */
const LONG_LOAD_MS = 600_000;
const OUTAGE_MS = 60_000;
const AFTER_OUTAGE_MS = 15_000;
const MIN_SLOT_MS = { processes: 12_500, connections: 7_500 };

/** Plans all faults, in the order of their times. If there is enough time, each part has each kind of fault once. */
export function planFaults(random: Random, loadMs: number): PlannedFault[] {
  const isLong = loadMs >= LONG_LOAD_MS;
  const outageAt = loadMs - OUTAGE_MS - AFTER_OUTAGE_MS;
  return [
    ...planProcessFaults(random, isLong ? outageAt : loadMs),
    ...planConnectionFaults(random, loadMs),
    ...planReceiverFaults(random, loadMs),
    ...(isLong ? [outageOfTemporal(outageAt)] : []),
  ].toSorted((a, b) => a.at - b.at);
}

/** Tasks and events are accepted during the outage, and start afterwards. */
function outageOfTemporal(at: number): PlannedFault {
  return { at, durationMs: OUTAGE_MS, lane: 'processes', kind: 'kill', part: 'temporal' };
}

/** Plans faults of each part in turn, until each part had every kind. The full disk is one of the turns. */
function planProcessFaults(random: Random, loadMs: number): PlannedFault[] {
  const kinds = ['kill', 'freeze', 'restart'] as const;
  const rounds = [0, 1, 2].map((round) =>
    shuffle(random, PARTS).map((part) => ({
      part,
      kind: kinds[(round + PARTS.indexOf(part)) % kinds.length] ?? 'kill',
    })),
  );
  const turns = rounds.flat();
  return spreadSlots(loadMs, turns.length + 1, MIN_SLOT_MS.processes).map((at, index): PlannedFault => {
    const base = { at: at + random.whole(0, 1_500), lane: 'processes' as const };
    if (index === DISK_TURN) return { ...base, durationMs: random.whole(3_000, 6_000), kind: 'disk' };
    const turn = turns[index > DISK_TURN ? index - 1 : index] ?? { part: 'api-1', kind: 'kill' };
    return { ...base, durationMs: chooseDuration(random, turn.kind), ...turn };
  });
}

function chooseDuration(random: Random, kind: 'kill' | 'freeze' | 'restart'): number {
  if (kind === 'restart') return 0;
  // After 8 s a frozen worker counts as dead. When it wakes up, another one has done its work.
  return kind === 'kill' ? random.whole(500, 4_000) : random.of([2_000, 5_000, 11_000]);
}

function planConnectionFaults(random: Random, loadMs: number): PlannedFault[] {
  const rounds = [0, 1, 2, 3].map((round) =>
    shuffle(random, LINKS).map((link) => ({
      link,
      mode: DISCONNECT_MODES[(round + LINKS.indexOf(link)) % DISCONNECT_MODES.length] ?? 'reset',
    })),
  );
  const turns = rounds.flat();
  return spreadSlots(loadMs, turns.length, MIN_SLOT_MS.connections).map((at, index): PlannedFault => {
    const { link, mode } = turns[index] ?? { link: 'callers to api-1', mode: 'reset' };
    return {
      at: at + random.whole(0, 1_000),
      durationMs: random.whole(2_000, 5_500),
      lane: 'connections',
      kind: 'disconnect',
      link,
      mode,
      delayMs: mode === 'delay' ? random.whole(100, 500) : 0,
    };
  });
}

/**
 * Plans the faults of the receivers themselves, early enough to include the first scheduled retry, after a minute. A
 * long scenario repeats them.
 */
function planReceiverFaults(random: Random, loadMs: number): PlannedFault[] {
  const lane = 'receivers' as const;
  const faults: PlannedFault[] = [];
  for (let round = 0; round === 0 || round + 200_000 < loadMs; round += 200_000) {
    const at = (ms: number) => round + ms + random.whole(0, 4_000);
    faults.push(
      { at: at(12_000), durationMs: 28_000, lane, kind: 'clock' },
      { at: at(16_000), durationMs: 28_000, lane, kind: 'certificate' },
      { at: at(22_000), durationMs: 25_000, lane, kind: 'refusals' },
    );
  }
  return faults;
}

/** Returns the times of at most `maxCount` turns, evenly spread. */
function spreadSlots(loadMs: number, maxCount: number, minSlotMs: number): number[] {
  const availableMs = loadMs - FIRST_FAULT_MS - minSlotMs;
  const count = Math.max(1, Math.min(maxCount, Math.floor(availableMs / minSlotMs)));
  return Array.from({ length: count }, (_, index) =>
    Math.round(FIRST_FAULT_MS + (index * availableMs) / count),
  );
}
