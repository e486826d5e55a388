import * as fc from 'fast-check';

/**
 * Holds a property against this many chosen cases. What breaks it is made as small as it gets and told with its seed;
 * `BATON_SEED` plays that seed again.
 */
export function holds<T extends [unknown, ...unknown[]]>(
  cases: { [I in keyof T]: fc.Arbitrary<T[I]> },
  check: (...values: T) => void,
  numRuns = 1_000,
): void {
  fc.assert(fc.property(...cases, check), { numRuns, ...seed() });
}

/** The same for what takes time. */
export async function holdsLater<T extends [unknown, ...unknown[]]>(
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
