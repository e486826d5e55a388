import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Makes `.local/` with what is always in it. The folder can be entered by all, since PostgreSQL may run as another
 * user; it can't be listed, and what is secret in it is readable by its owner alone.
 * @throws a sentence when this user may not
 */
export function makeLocalFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    chmodSync(folder, 0o711);
    mkdirSync(join(folder, 'logs'), { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOSPC') throw error;
    throw new Error(`Cannot write to ${folder} (${message}). Start as the user that owns this checkout.`, {
      cause: error,
    });
  }
}
