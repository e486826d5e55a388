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

/** The result of a request: the ids of its events that were already accepted, once delivery of all is guaranteed. */
export type Promised = Promise<ReadonlySet<string>>;

export type GroupStoreDependencies = {
  database: Database;
  control: Pick<DeliveryControl, 'dispatch' | 'confirmDispatch'>;
  /** Resolves when Temporal responds. @throws EngineUnavailable */
  engineReady: () => Promise<void>;
  clock: () => Date;
  log: Logger;
};

/** After this time, a readiness check decides whether Temporal is reachable. */
const SLOW_START_MS = 2_000;

/** Stores groups of requests and starts their dispatch. */
export function createGroupStore({ database, control, engineReady, clock, log }: GroupStoreDependencies) {
  /** Group starts of this process that are in progress. */
  const starting = new Map<string, Promise<void>>();
  /** Whether Temporal failed recently. Then its readiness is checked first, which fails faster. */
  let isDoubtful = false;
  const startRecorder = createStartRecorder((ids) => markGroupStarted(database, ids), log);

  /** @throws EngineUnavailable if dispatch of the group is not guaranteed */
  async function dispatchGroup(groupId: string): Promise<void> {
    try {
      if (isDoubtful) await engineReady();
      isDoubtful = false;
      await waitWhileReady(control.dispatch(groupId));
    } catch (error) {
      isDoubtful = true;
      if (!(error instanceof EngineUncertain)) throw error;
      if ((await control.confirmDispatch(groupId)) === 'absent') {
        throw new EngineUnavailable('Temporal did not accept the group', { cause: error });
      }
    }
  }

  /** Waits for a start while Temporal is ready: a busy server may need longer. @throws EngineUncertain */
  async function waitWhileReady(starts: Promise<void>): Promise<void> {
    while (!(await isSettledWithin(starts, SLOW_START_MS))) {
      await engineReady().catch((error: unknown) => {
        throw new EngineUncertain('Temporal does not respond', { cause: error });
      });
    }
    await starts;
  }

  /** Starts a group. A group that does not start is deleted. */
  async function start(groupId: string): Promise<void> {
    try {
      await dispatchGroup(groupId);
    } catch (error) {
      // A group that was started after all, for example by the reconciler, counts as accepted.
      if (await removeUnstartedGroup(database, groupId)) throw error;
    }
    startRecorder.add(groupId);
  }

  /**
   * Ensures that a group stored by another request is started. Such a group can be deleted until it is recorded as
   * started.
   */
  async function confirm(groupId: string): Promise<void> {
    const underWay = starting.get(groupId);
    if (underWay) return await underWay;
    await dispatchGroup(groupId);
    const there = await markGroupStarted(database, [groupId]);
    if (!there.has(groupId)) throw unavailable('Temporal');
  }

  function begin(groupId: string): Promise<void> {
    const begun = start(groupId).finally(() => starting.delete(groupId));
    starting.set(groupId, begun);
    return begun;
  }

  async function confirmAll(known: readonly KnownEvent[], begun: Promise<void> | null): Promised {
    const open = new Set(known.filter(({ started }) => !started).map(({ groupId }) => groupId));
    await Promise.all([begun, ...[...open].map((groupId) => groupId !== null && confirm(groupId))]);
    return new Set(known.map(({ id }) => id));
  }

  /** Stores the requests together. Each is accepted or rejected separately. */
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
      return await confirmAll(mine, isStored[index] ? begun : null);
    });
  }

  async function storeAlone(request: readonly NewEvent[]): Promised {
    const [promise] = await storeTogether([request]);
    return (await promise) ?? new Set();
  }

  return {
    /** Returns the result of each request. An event id may occur in only one of them. */
    async store(requests: readonly (readonly NewEvent[])[]): Promise<Promised[]> {
      try {
        return await storeTogether(requests);
      } catch (error) {
        if (requests.length === 1 || isDatabaseOutage(error)) throw error;
        // A bad request must not fail the others.
        return requests.map(storeAlone);
      }
    },
    /** Resolves when all pending writes are done. */
    settled: () => startRecorder.settled(),
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
 * Records started groups in batches, without making callers wait. If a record is lost, the reconciler or the next
 * duplicate finds the group already started.
 */
function createStartRecorder(write: (ids: readonly string[]) => Promise<unknown>, log: Logger) {
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
