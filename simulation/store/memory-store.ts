import type { DeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import type { Clock, Process } from '../world/clock.ts';
import type { Faults } from '../world/faults.ts';
import type { Ledger } from './ledger.ts';

/** A step that was committed: its name, what it was given, and what it returned. */
export type Commit = { name: string; given: readonly unknown[]; result: unknown; by: Process | null };

/** The statements of a store and those of people, each with a latency. */
export type MemoryStore = DeliveryStore & {
  [Name in keyof Ledger]: (...given: Parameters<Ledger[Name]>) => Promise<ReturnType<Ledger[Name]>>;
};

/** Latency of one message to or from the database, in milliseconds. */
export const STORE_LATENCY_MS = 6;

/** Watches a transaction: runs its step and returns the result. */
type Around = (commit: Omit<Commit, 'result'>, step: () => unknown) => unknown;

/** Runs a step as a transaction of the current process. */
export type Transactions = (name: string, given: readonly unknown[], step: () => unknown) => Promise<unknown>;

/**
 * Creates the transactions of a database in memory. During faults, a transaction may be lost, or committed while its caller
 * gets an error, or be late. `around` runs the step of each transaction.
 */
export function createTransactions(
  { clock, faults }: { clock: Clock; faults: Faults },
  around: Around,
): Transactions {
  return async (name, given, step) => {
    const fault = faults.next();
    const by = clock.process();
    return await clock.call(
      faults.delay(STORE_LATENCY_MS),
      () => {
        if (fault === 'lost request') throw connectionLost();
        const result = around({ name, given, by }, step);
        if (fault === 'lost response') throw connectionLost();
        return result;
      },
      faults.delay(STORE_LATENCY_MS),
    );
  };
}

/** Creates a store over a ledger. Each call is one transaction. */
export function createMemoryStore(ledger: Ledger, transact: Transactions): MemoryStore {
  const entries = Object.entries(ledger).map(([name, step]) => {
    const run = step as (...values: unknown[]) => unknown;
    return [name, (...given: unknown[]) => transact(name, given, () => run(...given))];
  });
  return Object.fromEntries(entries) as MemoryStore;
}

function connectionLost(): Error {
  return Object.assign(new Error('the connection was lost'), { code: 'ECONNRESET' });
}
