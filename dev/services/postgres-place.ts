import { randomBytes } from 'node:crypto';
import { chownSync, chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { canEnter, installedBinaries, postgresUser } from './postgres-user.ts';
import type { RunAs } from '../common/processes.ts';

/** The folders of PostgreSQL, all accessible to the user that it runs as. */
export type PostgresPlace = {
  user: RunAs | undefined;
  /** The folder with `bin`, `lib` and `share`. */
  binaries: string;
  /** The folder with the data of the cluster, in `data`. */
  home: string;
  /** Set if `home` is not the preferred folder: a sentence for the terminal. */
  notice: string | null;
};

/**
 * Returns the folders of a cluster at `preferred`. If the user of PostgreSQL cannot access it (such as a checkout of
 * root in a private home), the cluster is in a folder in `shelter`, whose path is stored in `<preferred>.place`.
 * @throws Error with instructions if no folder is accessible
 */
export function placeFor(preferred: string, shelter = '/var/lib'): PostgresPlace {
  const user = postgresUser();
  const near = ownFolder(preferred, user);
  if (canEnter(user, near)) {
    return { user, home: near, binaries: reachableBinaries(user, near), notice: null };
  }
  const memory = `${preferred}.place`;
  const remembered = existsSync(memory) ? readFileSync(memory, 'utf8').trim() : null;
  // Random, so that a new checkout at an old path does not find the data of another one.
  const chosen =
    remembered ?? join(shelter, `baton-${basename(preferred)}-${randomBytes(4).toString('hex')}`);
  try {
    const home = ownFolder(chosen, user);
    if (!canEnter(user, home)) throw new Error(`${home} is not accessible either`);
    writeFileSync(memory, `${chosen}\n`);
    return { user, home, binaries: reachableBinaries(user, home), notice: elsewhere(preferred, chosen) };
  } catch (error) {
    throw new Error(
      `The user that runs PostgreSQL cannot access ${dirname(preferred)} because a parent folder is private, and ` +
        `${chosen} cannot be used instead (${(error as Error).message}). Move the checkout, make the parent ` +
        'folders accessible (chmod o+x), start as a user other than root, or set DATABASE_URL.',
      { cause: error },
    );
  }
}

function elsewhere(preferred: string, chosen: string): string {
  return `The user that runs PostgreSQL cannot access ${dirname(preferred)}; its data is in ${chosen}`;
}

/** Ensures that a folder exists and belongs to the user of the database. Parent folders are not changed. */
function ownFolder(path: string, user: RunAs | undefined): string {
  mkdirSync(dirname(path), { recursive: true });
  if (!existsSync(path)) mkdirSync(path, { mode: 0o700 });
  if (user !== undefined) chownSync(path, user.uid, user.gid);
  chmodSync(path, 0o700);
  return path;
}

/** Returns the installed binaries, or a copy in the cluster's folder if the user of the database cannot access them. */
function reachableBinaries(user: RunAs | undefined, home: string): string {
  const installed = installedBinaries();
  if (canEnter(user, join(installed, 'bin', 'postgres'))) return installed;
  const copy = join(home, 'postgresql');
  if (!canEnter(user, join(copy, 'bin', 'postgres'))) {
    cpSync(installed, copy, { recursive: true, dereference: false, verbatimSymlinks: true });
  }
  return copy;
}
