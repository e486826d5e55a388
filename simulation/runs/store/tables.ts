import type { CallbackAttemptRow } from '../../../src/database/tasks/callbacks.ts';
import type { TaskRunRow } from '../../../src/database/tasks/task-runs.ts';
import type { Database } from '../../../src/database/database.ts';
import type { StoredKey } from '../../../src/domain/common/idempotency.ts';
import type { FeedEntry } from '../../../src/domain/tasks/feed-events.ts';
import type { StoredPlan } from '../../../src/domain/tasks/rerun.ts';
import type { Transactions } from '../../store/memory-store.ts';

/*
 * The tables of runs in memory. The modules beside this one replace those of `src/database/tasks`: their functions do what the
 * statements do, one row at a time. `test/properties/runs.test.ts` compares both, for random calls.
 */

export type RunRow = TaskRunRow & { plan: StoredPlan | null };
export type EventRow = FeedEntry & { seq: number };

export type RunTables = {
  runs: Map<string, RunRow>;
  /** The events of each run, in order. */
  events: Map<string, EventRow[]>;
  attempts: Map<string, CallbackAttemptRow[]>;
  /** By scope and key. */
  keys: Map<string, StoredKey & { taken_at?: Date }>;
};

export function createRunTables(): RunTables {
  return { runs: new Map(), events: new Map(), attempts: new Map(), keys: new Map() };
}

/** A database in memory, in the place of the real one. */
export type MemoryDatabase = { tables: RunTables; transact: Transactions };

export function asDatabase(memory: MemoryDatabase): Database {
  return memory as unknown as Database;
}

/** Returns a function that runs a step as one transaction, like a statement of the service. */
export function statement<Given extends unknown[], Result>(
  name: string,
  step: (tables: RunTables, ...given: Given) => Result,
): (database: Database, ...given: Given) => Promise<Result> {
  return async (database, ...given) => {
    const { tables, transact } = database as unknown as MemoryDatabase;
    return (await transact(name, given, () => structuredClone(step(tables, ...given)))) as Result;
  };
}

export function eventsOf({ events }: RunTables, executionId: string): EventRow[] {
  const own = events.get(executionId) ?? [];
  events.set(executionId, own);
  return own;
}

export function attemptsOf({ attempts }: RunTables, executionId: string): CallbackAttemptRow[] {
  const own = attempts.get(executionId) ?? [];
  attempts.set(executionId, own);
  return own;
}

/** Adds events to the feed of a run. */
export function addEvents(tables: RunTables, row: RunRow, entries: readonly FeedEntry[]): void {
  const own = eventsOf(tables, row.id);
  for (const entry of entries) {
    row.last_seq += 1;
    own.push({ ...entry, seq: row.last_seq });
  }
}

export function runsWhere({ runs }: RunTables, matches: (row: RunRow) => boolean): RunRow[] {
  return [...runs.values()].filter(matches);
}
