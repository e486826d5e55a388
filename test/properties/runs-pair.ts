import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import * as memoryCallbacks from '../../simulation/runs/store/callbacks.ts';
import * as memoryFeed from '../../simulation/runs/store/feed.ts';
import {
  createMemoryKeys,
  takeOverClaim as memoryTakeOver,
} from '../../simulation/runs/store/idempotency-keys.ts';
import * as memoryReruns from '../../simulation/runs/store/reruns.ts';
import * as memoryRuns from '../../simulation/runs/store/task-runs.ts';
import { asDatabase, createRunTables, type RunTables } from '../../simulation/runs/store/tables.ts';
import { takeOverClaim } from '../../src/database/common/idempotency-claims.ts';
import * as realCallbacks from '../../src/database/tasks/callbacks.ts';
import * as realFeed from '../../src/database/tasks/feed.ts';
import { createIdempotencyKeys, type IdempotencyKeys } from '../../src/database/tasks/idempotency.ts';
import * as realReruns from '../../src/database/tasks/reruns.ts';
import * as realRuns from '../../src/database/tasks/task-runs.ts';
import type { FreshInstallation } from '../support/installation.ts';
import { newRunRow } from '../support/run-row.ts';

const MEMORY = {
  ...memoryRuns,
  ...memoryFeed,
  ...memoryCallbacks,
  ...memoryReruns,
  takeOverClaim: memoryTakeOver,
};
const REAL = { ...realRuns, ...realFeed, ...realCallbacks, ...realReruns, takeOverClaim };

type Name = keyof typeof MEMORY;
type Given<N extends Name> = Parameters<(typeof MEMORY)[N]> extends [unknown, ...infer Rest] ? Rest : never;

/** The same runs in PostgreSQL and in memory. Each call is made to both, and must return the same. */
export type RunsPair = {
  ids: readonly string[];
  tables: RunTables;
  call<N extends Name>(name: N, ...given: Given<N>): Promise<unknown>;
  /** Makes a call about idempotency keys. */
  callKeys(call: (keys: IdempotencyKeys) => Promise<unknown>): Promise<void>;
  /** Compares the rows of the runs, their events and the attempts of their callbacks. */
  compareRows(after: string): Promise<void>;
};

/** Creates two runs in PostgreSQL and in memory: with a callback, and without one. */
export async function createRunsPair({ database, installation }: FreshInstallation): Promise<RunsPair> {
  const tables = createRunTables();
  const memory = { tables, transact: async (_name: string, _given: unknown, step: () => unknown) => step() };
  const modelKeys = createMemoryKeys(memory);
  const realKeys = createIdempotencyKeys(database);
  const ids: string[] = [];
  const own = (value: unknown) => comparable(value, new Set(ids));

  async function call<N extends Name>(name: N, ...given: Given<N>): Promise<unknown> {
    const onReal = REAL[name] as (...values: unknown[]) => Promise<unknown>;
    const onMemory = MEMORY[name] as (...values: unknown[]) => Promise<unknown>;
    const stored = await resultOf(onReal(database, ...given));
    const modelled = await resultOf(onMemory(asDatabase(memory), ...given));
    assert.deepEqual(own(modelled), own(stored), `${name} ${JSON.stringify(given)}`);
    return stored;
  }

  for (const callback_url of ['https://receiver.example.com/', null]) {
    const run = newRunRow(installation, { id: randomUUIDv7(), callback_url });
    ids.push(run.id);
    await call('insertRun', run);
  }
  return {
    ids,
    tables,
    call,
    async callKeys(ask) {
      const stored = await ask(realKeys);
      assert.deepEqual(own(await ask(modelKeys)), own(stored));
    },
    async compareRows(after) {
      for (const id of ids) {
        await call('findRun', id);
        await call('findPlan', id);
        await call('listEventsAfter', id, 0, 1_000);
        await call('listCallbackAttempts', id);
        assert.ok(tables.runs.has(id), after);
      }
    },
  };
}

/** Returns the result of a call, or its error. */
async function resultOf(call: Promise<unknown>): Promise<unknown> {
  return await call.catch((error: unknown) => ({ error: String(error) }));
}

/** Columns with a time of the database's own clock, or that only PostgreSQL returns. */
const IGNORED = new Set(['updated_at', 'plan']);

/** Returns the result of a call in one form, without the rows of other runs. */
function comparable(value: unknown, ids: ReadonlySet<unknown>): unknown {
  if (!Array.isArray(value)) return plain(value);
  const isOwn = (one: unknown) => {
    const { executionId, execution_id, id } = (one ?? {}) as Record<string, unknown>;
    return [one, executionId, execution_id, id].some((name) => ids.has(name));
  };
  const own = value.filter(isOwn).map(plain);
  // Statements that return ids promise no order.
  return own.every((one) => typeof one === 'string') ? own.toSorted() : own;
}

function plain(value: unknown): unknown {
  if (value === undefined || value === null) return null;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object') return value;
  const columns = Object.entries(value).filter(([name]) => !IGNORED.has(name));
  return Object.fromEntries(columns.map(([name, one]) => [name, plain(one)]));
}
