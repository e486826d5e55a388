import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { commandLine } from '../common/processes.ts';

/**
 * Ensures that one launcher at a time uses the `.local/` of this checkout. Returns a function that releases the lock.
 * @throws Error with the process id of the other launcher
 */
export function takeLock(file: string, mark: string): () => void {
  for (let tries = 1; tries <= 3; tries++) {
    try {
      writeFileSync(file, `${process.pid}\n`, { flag: 'wx', mode: 0o600 });
      return () => rmSync(file, { force: true });
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    }
    const holder = Number(readFileSync(file, 'utf8'));
    if (holder !== process.pid && commandLine(holder)?.includes(mark)) {
      throw new Error(
        `Baton is already running from this checkout (process ${holder}). ` +
          `Stop it first: press Ctrl-C in its terminal, or run kill ${holder}.`,
      );
    }
    rmSync(file, { force: true }); // the lock of a launcher that has ended
  }
  throw new Error(`cannot lock ${file}`);
}
