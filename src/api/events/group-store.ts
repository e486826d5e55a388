import { randomUUIDv7 } from 'node:crypto';
import type { Logger } from 'pino';
import type { Database } from '../../database/database.ts';
import {
  insertGroup,
  markGroupStarted,
  removeUnstartedGroup,
  type KnownEvent,
  type NewEvent,
} from '../../database/webhooks/events.ts';
import { isDatabaseOutage } from '../../database/common/outage.ts';
import type { DeliveryControl } from '../../temporal/delivery-control.ts';
import { EngineUncertain, EngineUnavailable } from '../../temporal/task-control.ts';
import { unavailable } from '../http/problem.ts';
import { conflictOf } from './prepare.ts';

/** What becomes of a request: the ids of its events that were there already, once all of it is sure to be sent. */
export type Promised = Promise<ReadonlySet<string>>;

export type StoreDependencies = {
  database: Database;
  control: Pick<DeliveryControl, 'dispatch' | 'confirmDispatch'>;
  /** Resolves when the engine answers. @throws EngineUnavailable */
  engineReady: () => Promise<void>;
  clock: () => Date;
  log: Logger;
};

/** A start that takes longer than this makes one ask whether the engine is there at all. */
const DOUBT_MS = 2_000;

/** Stores groups of requests and has them dispatched. */
export function createGroupStore({ database, control, engineReady, clock, log }: StoreDependencies) {
  /** Starts of groups by this process that are under way. */
  const starting = new Map<string, Promise<void>>();
  /** Whether the engine failed of late: then it is asked first, which fails sooner. */
  let isDoubtful = false;
  const notes = createStartNotes((ids) => markGroupStarted(database, ids), log);

  /** @throws EngineUnavailable where the group is not sure to be dispatched */
  async function dispatched(groupId: string): Promise<void> {
    try {
      if (isDoubtful) await engineReady();
      isDoubtful = false;
      await asLongAsReady(control.dispatch(groupId));
    } catch (error) {
      isDoubtful = true;
      if (!(error instanceof EngineUncertain)) throw error;
      if ((await control.confirmDispatch(groupId)) === 'absent') {
        throw new EngineUnavailable('Temporal did not accept the group', { cause: error });
      }
    }
  }

  /** Waits for a start while the engine is there: a busy one may take its time. @throws EngineUncertain */
  async function asLongAsReady(starts: Promise<void>): Promise<void> {
    while (!(await isSettledWithin(starts, DOUBT_MS))) {
      await engineReady().catch((error: unknown) => {
        throw new EngineUncertain('Temporal does not respond', { cause: error });
      });
    }
    await starts;
  }

  /** Starts a group of ours; one that does not start is taken back. */
  async function start(groupId: string): Promise<void> {
    try {
      await dispatched(groupId);
    } catch (error) {
      // One that has begun in spite of all (the reconciler may have started it meanwhile) is taken in.
      if (await removeUnstartedGroup(database, groupId)) throw error;
    }
    notes.add(groupId);
  }

  /** Makes sure of a group that another request stored. It may be taken back until it is noted as started. */
  async function confirm(groupId: string): Promise<void> {
    const underWay = starting.get(groupId);
    if (underWay) return await underWay;
    await dispatched(groupId);
    const there = await markGroupStarted(database, [groupId]);
    if (!there.has(groupId)) throw unavailable('Temporal');
  }

  function begin(groupId: string): Promise<void> {
    const begun = start(groupId).finally(() => starting.delete(groupId));
    starting.set(groupId, begun);
    return begun;
  }

  async function promised(known: readonly KnownEvent[], begun: Promise<void> | null): Promised {
    const open = new Set(known.filter(({ started }) => !started).map(({ groupId }) => groupId));
    await Promise.all([begun, ...[...open].map((groupId) => groupId !== null && confirm(groupId))]);
    return new Set(known.map(({ id }) => id));
  }

  /** Stores the requests together; each is refused or taken for itself. */
  async function storeTogether(requests: readonly (readonly NewEvent[])[]): Promise<Promised[]> {
    const groupId = randomUUIDv7();
    const known = await insertGroup(database, { id: groupId, now: clock(), requests });
    const knownOf = requests.map((_, index) => known.filter(({ request }) => request === index));
    const isStored = requests.map(
      (request, index) => canBeStored(knownOf[index]) && request.length > (knownOf[index]?.length ?? 0),
    );
    const begun = isStored.includes(true) ? begin(groupId) : null;
    return requests.map(async (_, index) => {
      const mine = knownOf[index] ?? [];
      if (!canBeStored(mine)) throw conflictOf(mine.filter(({ isSame }) => !isSame).map(({ id }) => id));
      return await promised(mine, isStored[index] ? begun : null);
    });
  }

  async function storeAlone(request: readonly NewEvent[]): Promised {
    const [promise] = await storeTogether([request]);
    return (await promise) ?? new Set();
  }

  return {
    /** Answers what becomes of each request. No id may stand in two of them. */
    async store(requests: readonly (readonly NewEvent[])[]): Promise<Promised[]> {
      try {
        return await storeTogether(requests);
      } catch (error) {
        if (requests.length === 1 || isDatabaseOutage(error)) throw error;
        // What is wrong with one of them is nothing to the others.
        return requests.map(storeAlone);
      }
    },
    /** Resolves when nothing is being written any more. */
    settled: () => notes.settled(),
  };
}

export type GroupStore = ReturnType<typeof createGroupStore>;

async function isSettledWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), ms);
  const settled = promise.then(
    () => true,
    () => true,
  );
  return await Promise.race([settled, late.promise]).finally(() => clearTimeout(timer));
}

function canBeStored(known: readonly KnownEvent[] = []): boolean {
  return known.every(({ isSame }) => isSame);
}

/**
 * Notes which groups were started, many at once and nobody waiting for it. A note that is lost costs a question:
 * the reconciler, or the next duplicate, finds the group started already.
 */
function createStartNotes(write: (ids: readonly string[]) => Promise<unknown>, log: Logger) {
  let waiting: string[] = [];
  let writing: Promise<void> | null = null;

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const ids = waiting;
      waiting = [];
      await write(ids).catch((error: unknown) => log.warn({ err: error }, 'recording started groups failed'));
    }
    writing = null;
  }

  return {
    add(id: string): void {
      waiting.push(id);
      writing ??= writeAll();
    },
    async settled(): Promise<void> {
      await writing;
    },
  };
}
