import { createHash } from 'node:crypto';
import { posix } from 'node:path';

/** The most mutants of a sample that are in the same file. */
const MOST_PER_FILE = 3;

/** A file, with the size of its text. */
export type SizedFile = { file: string; size: number };

/**
 * Returns the files in the order in which a sample takes them: at random, one of each folder before the second one of any.
 * Larger files, and the folders with more code, tend to come earlier. The same seed gives the same order, and a file
 * that is added does not change the order of the others in its folder.
 */
export function orderOfFiles(files: readonly SizedFile[], seed: number): string[] {
  const folders = [...Map.groupBy(files, ({ file }) => posix.dirname(file))].map(([file, inside]) => ({
    file,
    size: inside.reduce((total, { size }) => total + size, 0),
    files: byChance(inside, seed).map((one) => one.file),
  }));
  const ordered = byChance(folders, seed);
  const rounds = Math.max(0, ...ordered.map((folder) => folder.files.length));
  return Array.from({ length: rounds }, (_, round) =>
    ordered.flatMap((folder) => folder.files[round] ?? []),
  ).flat();
}

/**
 * Takes mutants from the files in their order, one of each file before the second one of any, until there are enough.
 * `mutantsOf` returns those of a file, `accept` may refuse a mutant.
 */
export async function chooseMutants<M extends { start: number; end: number; replacement: string }>(
  order: readonly string[],
  {
    count,
    seed,
    mutantsOf,
    accept,
  }: {
    count: number;
    seed: number;
    mutantsOf: (file: string) => Promise<M[]>;
    accept: (mutant: M) => Promise<boolean>;
  },
): Promise<M[]> {
  const chosen: M[] = [];
  const waiting = new Map<string, M[]>();
  for (let round = 0; round < MOST_PER_FILE; round += 1) {
    for (const file of order) {
      if (chosen.length >= count) return chosen;
      const rest = waiting.get(file) ?? shuffled(await mutantsOf(file), `${seed} ${file}`);
      waiting.set(file, rest);
      for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
        if (!(await accept(next))) continue;
        chosen.push(next);
        break;
      }
    }
  }
  return chosen;
}

/** Orders by chance, where a chance is proportional to the size. */
function byChance<F extends SizedFile>(files: readonly F[], seed: number): F[] {
  const keyed = files.map((one) => ({
    one,
    key: -Math.log(chance(`${seed} ${one.file}`)) / Math.max(1, one.size),
  }));
  return keyed.toSorted((one, other) => one.key - other.key).map(({ one }) => one);
}

function shuffled<M extends { start: number; end: number; replacement: string }>(
  mutants: readonly M[],
  seed: string,
): M[] {
  const keyed = mutants.map((one) => ({
    one,
    key: chance(`${seed} ${one.start} ${one.end} ${one.replacement}`),
  }));
  return keyed.toSorted((one, other) => one.key - other.key).map(({ one }) => one);
}

/** Returns a number between 0 and 1 that depends only on the text. */
function chance(text: string): number {
  return (createHash('sha256').update(text).digest().readUInt32BE() + 1) / (2 ** 32 + 1);
}
