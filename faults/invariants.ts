/** The result of one check. */
export type InvariantResult = {
  name: string;
  count: number;
  /**
   * `none`: the count must be 0. `some`: it must be above 0, or the scenario proved nothing. `at most`: it must not
   * exceed `limit`. `any`: it is only reported.
   */
  expected: 'none' | 'some' | 'at most' | 'any';
  limit?: number;
  /** Some of the counted items. */
  examples: string[];
  note?: string;
};

export function isViolated({ expected, count, limit = 0 }: InvariantResult): boolean {
  if (expected === 'none') return count !== 0;
  if (expected === 'some') return count === 0;
  return expected === 'at most' && count > limit;
}

const EXAMPLES = 5;

/** Returns the result of an invariant that nothing may violate. */
export function expectNone(name: string, found: readonly string[]): InvariantResult {
  return { name, count: found.length, expected: 'none', examples: found.slice(0, EXAMPLES) };
}

/** Returns the result of an invariant that must occur at least once. */
export function expectSome(name: string, count: number): InvariantResult {
  return { name, count, expected: 'some', examples: [] };
}

/** Returns a count without a limit. */
export function reportCount(name: string, count: number, note?: string): InvariantResult {
  return { name, count, expected: 'any', examples: [], ...(note === undefined ? {} : { note }) };
}
