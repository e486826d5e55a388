import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Creates `.local/` and the folders in it. All users can enter the folder, since PostgreSQL may run as another user,
 * but they cannot list it. Files with secrets are readable only by their owner.
 * @throws Error if this user cannot write to it
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
