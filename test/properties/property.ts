import * as fc from 'fast-check';
import { chosenSeed } from '../support/random.ts';

/** `BATON_CASES=50` checks 50 times as many cases. */
const MORE_CASES = Number(process.env['BATON_CASES'] ?? 1);

/**
 * Checks a property for `numRuns` random cases. The seed is that of `chosenSeed`. A failing case
 * is shrunk and reported with its seed.
 */
export function holds<T extends [unknown, ...unknown[]]>(
  cases: { [I in keyof T]: fc.Arbitrary<T[I]> },
  check: (...values: T) => void,
  numRuns = 1_000,
): void {
  fc.assert(fc.property(...cases, check), { numRuns: numRuns * MORE_CASES, seed: chosenSeed() });
}

/** Checks a property with an asynchronous function, like `holds`. */
export async function holdsAsync<T extends [unknown, ...unknown[]]>(
  cases: { [I in keyof T]: fc.Arbitrary<T[I]> },
  check: (...values: T) => Promise<void>,
  numRuns: number,
): Promise<void> {
  await fc.assert(fc.asyncProperty(...cases, check), { numRuns: numRuns * MORE_CASES, seed: chosenSeed() });
}
