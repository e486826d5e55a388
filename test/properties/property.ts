import * as fc from 'fast-check';

/**
 * Checks a property for `numRuns` random cases. A failing case is shrunk and reported with its seed;
 * `BATON_SEED` repeats that seed.
 */
export function holds<T extends [unknown, ...unknown[]]>(
  cases: { [I in keyof T]: fc.Arbitrary<T[I]> },
  check: (...values: T) => void,
  numRuns = 1_000,
): void {
  fc.assert(fc.property(...cases, check), { numRuns, ...seed() });
}

/** Checks a property with an asynchronous function, like `holds`. */
export async function holdsAsync<T extends [unknown, ...unknown[]]>(
  cases: { [I in keyof T]: fc.Arbitrary<T[I]> },
  check: (...values: T) => Promise<void>,
  numRuns: number,
): Promise<void> {
  await fc.assert(fc.asyncProperty(...cases, check), { numRuns, ...seed() });
}

function seed(): { seed?: number } {
  const given = process.env['BATON_SEED'];
  return given === undefined ? {} : { seed: Number(given) };
}
