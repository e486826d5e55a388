import { z } from 'zod';
import type { PlausibleMutant } from './plausible.ts';

/** A fault that a person has planted: `original` occurs once in the file. */
const plantedFaults = z.array(
  z.object({ file: z.string(), original: z.string().min(1), replacement: z.string() }),
);

/**
 * Reads faults from JSON. Each becomes as small a mutant as possible, so that its position is in the right function.
 * @param files every file of the repository by its path, with its text
 * @throws Error if the text is not as described, or an original does not occur exactly once
 */
export function readPlanted(json: string, files: ReadonlyMap<string, string>): PlausibleMutant[] {
  const read = plantedFaults.safeParse(JSON.parse(json));
  if (!read.success)
    throw new Error(`The planted faults are not as documented: ${z.prettifyError(read.error)}`);
  return read.data.map(({ file, original, replacement }, index) => {
    const text = files.get(file) ?? '';
    const at = text.indexOf(original);
    if (at < 0 || text.includes(original, at + 1))
      throw new Error(`The original of fault ${index + 1} does not occur exactly once in ${file}.`);
    return smallest({
      file,
      mutator: 'planted',
      start: at,
      end: at + original.length,
      original,
      replacement,
    });
  });
}

/** Removes what the original and its replacement have in common at the beginning and at the end. */
function smallest(mutant: PlausibleMutant): PlausibleMutant {
  const { original, replacement, start } = mutant;
  const shorter = Math.min(original.length, replacement.length);
  let before = 0;
  while (before < shorter && original[before] === replacement[before]) before += 1;
  let after = 0;
  while (after < shorter - before && original.at(-1 - after) === replacement.at(-1 - after)) after += 1;
  const changed = (text: string) => text.slice(before, text.length - after);
  return {
    ...mutant,
    start: start + before,
    end: start + original.length - after,
    original: changed(original),
    replacement: changed(replacement),
  };
}
