import { randomBytes } from 'node:crypto';
import { chownSync, chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { canEnter, installedBinaries, postgresUser } from './postgres-user.ts';
import type { RunAs } from '../common/processes.ts';

/** Where PostgreSQL's files stand, all within reach of the user that it runs as. */
export type PostgresPlace = {
  user: RunAs | undefined;
  /** Folder with `bin`, `lib` and `share`. */
  binaries: string;
  /** Holds the cluster's data in `data`. */
  home: string;
  /** Set if `home` is not the preferred folder: a sentence for the terminal. */
  notice: string | null;
};

/**
 * A home for a cluster at `preferred`. Where the database's user can't get there (root's checkout under a private
 * home), it is a folder in `shelter`, remembered in `<preferred>.place`.
 * @throws with what to do when nothing is within reach
 */
export function placeFor(preferred: string, shelter = '/var/lib'): PostgresPlace {
  const user = postgresUser();
  const near = ownFolder(preferred, user);
  if (canEnter(user, near)) {
    return { user, home: near, binaries: reachableBinaries(user, near), notice: null };
  }
  const memory = `${preferred}.place`;
  const remembered = existsSync(memory) ? readFileSync(memory, 'utf8').trim() : null;
  // Random, so that a new checkout at an old path never meets another one's data.
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

/** A folder that belongs to the database's user, made when missing; those above stay as they are. */
function ownFolder(path: string, user: RunAs | undefined): string {
  mkdirSync(dirname(path), { recursive: true });
  if (!existsSync(path)) mkdirSync(path, { mode: 0o700 });
  if (user !== undefined) chownSync(path, user.uid, user.gid);
  chmodSync(path, 0o700);
  return path;
}

/** The installed binaries, or a copy in the cluster's home where the database's user can't get to them. */
function reachableBinaries(user: RunAs | undefined, home: string): string {
  const installed = installedBinaries();
  if (canEnter(user, join(installed, 'bin', 'postgres'))) return installed;
  const copy = join(home, 'postgresql');
  if (!canEnter(user, join(copy, 'bin', 'postgres'))) {
    cpSync(installed, copy, { recursive: true, dereference: false, verbatimSymlinks: true });
  }
  return copy;
}
