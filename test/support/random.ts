/** Random numbers that are the same for the same seed. */
export type Random = {
  /** A number from 0 to below 1. */
  next(): number;
  /** A whole number from `min` to `max`, both included. */
  whole(min: number, max: number): number;
  /** One of the choices. */
  of<T>(choices: readonly T[]): T;
  /** Returns an independent generator. */
  fork(): Random;
};

const DEFAULT_SEED = 20_260_917;

/**
 * Returns the seed of random tests. It is always the same, so that only changes can make tests fail. `BATON_SEED` sets
 * another one; with `BATON_SEED=random`, it is new, to search for faults.
 */
export function chosenSeed(): number {
  const given = process.env['BATON_SEED'];
  if (given === 'random') return Math.floor(Math.random() * 2 ** 31);
  return Number(given ?? DEFAULT_SEED);
}

/** Returns the chosen seed. Prints it, so that a run can be repeated. */
export function announcedSeed(): number {
  const seed = chosenSeed();
  console.log(`    seed ${seed} (BATON_SEED=${seed} repeats it)`);
  return seed;
}

/** Returns a function that gives random numbers from 0 to below `below`, the same for the same seed (mulberry32). */
export function seededNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Marsaglia's xorshift with 32 bits. It is good enough for varied tests. */
export function createRandom(seed: number): Random {
  let state = (seed ^ 0x9e3779b9) >>> 0 || 1;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
  for (let warming = 0; warming < 8; warming += 1) next();
  const random: Random = {
    next,
    whole: (min, max) => min + Math.floor(next() * (max - min + 1)),
    of(choices) {
      const chosen = choices[Math.floor(next() * choices.length)];
      if (chosen === undefined) throw new Error('nothing to choose from');
      return chosen;
    },
    fork: () => createRandom(Math.floor(next() * 2 ** 32)),
  };
  return random;
}
