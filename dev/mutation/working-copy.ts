import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { checkout, inCheckout } from '../common/paths.ts';
import { repositoryFiles } from '../tests/changed.ts';
import { withMutant, type PlausibleMutant } from './plausible.ts';

/** A copy of the checkout in which files can be changed. */
export type WorkingCopy = {
  root: string;
  /** Every file by its path, with its text. */
  files: ReadonlyMap<string, string>;
  /** Changes a file while the work runs, and restores it afterwards. */
  withMutant<T>(mutant: PlausibleMutant, work: () => Promise<T>): Promise<T>;
};

/** Replaces a folder with a copy of the checkout, without what git ignores. The packages are those of the checkout. */
export function createWorkingCopy(root: string): WorkingCopy {
  const files = repositoryFiles(checkout);
  rmSync(root, { recursive: true, force: true });
  for (const file of files.keys()) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    cpSync(inCheckout(file), join(root, file));
  }
  symlinkSync(inCheckout('node_modules'), join(root, 'node_modules'));
  return {
    root,
    files,
    async withMutant(mutant, work) {
      const path = join(root, mutant.file);
      const text = readFileSync(path, 'utf8');
      writeFileSync(path, withMutant(text, mutant));
      try {
        return await work();
      } finally {
        writeFileSync(path, text);
      }
    },
  };
}
