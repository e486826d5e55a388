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

/** The kinds of actions of random stories: how often each occurs, and its plans. */
type ActionKinds = Readonly<Record<string, readonly [weight: number, plan: fc.Arbitrary<unknown>]>>;

/** The plan of each kind of action. */
export type PlansOf<Kinds extends ActionKinds> = {
  [Kind in keyof Kinds]: Kinds[Kind][1] extends fc.Arbitrary<infer Plan> ? Plan : never;
};

/** An action of a random story. */
export type ActionOf<Kinds extends ActionKinds> = {
  [Kind in keyof Kinds]: { kind: Kind; plan: PlansOf<Kinds>[Kind] };
}[keyof Kinds];

/** Returns random actions of these kinds. */
export function actionsOf<const Kinds extends ActionKinds>(kinds: Kinds): fc.Arbitrary<ActionOf<Kinds>> {
  return fc.oneof(
    ...Object.entries(kinds).map(([kind, [weight, plan]]) => ({
      weight,
      arbitrary: plan.map((given) => ({ kind, plan: given }) as ActionOf<Kinds>),
    })),
  );
}
