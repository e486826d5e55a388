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

/**
 * Creates a store over a ledger. Each call is one transaction. During faults, a transaction may be lost, or committed
 * while its caller gets an error, or be late. `around` runs the step of each transaction.
 */
export function createMemoryStore(
  ledger: Ledger,
  { clock, faults }: { clock: Clock; faults: Faults },
  around: (commit: Omit<Commit, 'result'>, step: () => unknown) => unknown,
): MemoryStore {
  const entries = Object.entries(ledger).map(([name, step]) => [
    name,
    async (...given: unknown[]) => {
      const fault = faults.next();
      const by = clock.process();
      return await clock.call(
        faults.delay(STORE_LATENCY_MS),
        () => {
          if (fault === 'lost request') throw connectionLost();
          const run = step as (...values: unknown[]) => unknown;
          const result = around({ name, given, by }, () => run(...given));
          if (fault === 'lost response') throw connectionLost();
          return result;
        },
        faults.delay(STORE_LATENCY_MS),
      );
    },
  ]);
  return Object.fromEntries(entries) as MemoryStore;
}

function connectionLost(): Error {
  return Object.assign(new Error('the connection was lost'), { code: 'ECONNRESET' });
}
