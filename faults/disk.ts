import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { postgresUser } from '../dev/services/postgres-user.ts';
import { isAlive } from '../dev/common/processes.ts';
import { childrenOf } from '../test/support/parts.ts';

/** Where PostgreSQL's data lies, on which room can be made scarce. */
export type Disk = {
  /** How it is made scarce, for the report. */
  how: string;
  folder: string;
  /** From now on nothing more can be written. `postgres` is the server's process id. */
  fill(postgres: number): Promise<void>;
  free(postgres: number | null): Promise<void>;
  remove(): void;
};

const DISK_BYTES = 768 * 1_048_576;
const PIECE = Buffer.alloc(1_048_576);
/** A file that is longer can't grow; PostgreSQL's log of writes has files of 16 MiB. */
const LONGEST_FILE = 65_536;

/** Folders of stories begin so; the process id that follows tells a later story that nobody uses it any more. */
export const FOLDER_PREFIX = 'baton-faults-';

/** Removes what stories that were killed outright have left. */
export function sweepFolders(): void {
  for (const name of readdirSync(tmpdir())) {
    const owner = Number(new RegExp(`^${FOLDER_PREFIX}(\\d+)-`).exec(name)?.[1]);
    if (!(owner > 0) || isAlive(owner)) continue;
    const folder = join(tmpdir(), name);
    if (existsSync(join(folder, 'disk'))) spawnSync('umount', ['-l', join(folder, 'disk')]);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A small file system of its own where this user may mount one, else a limit on the size of files. */
export function prepareDisk(folder: string): Disk {
  const place = join(folder, 'disk');
  mkdirSync(place, { mode: 0o711 });
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES},mode=711`, 'tmpfs', place]);
  return mounted.status === 0 ? smallDisk(place) : limitedFiles(place);
}

function smallDisk(folder: string): Disk {
  const ballast = join(folder, 'ballast');
  return {
    how: 'a file system of 768 MiB that is filled to the last byte',
    folder,
    async fill() {
      const file = await open(ballast, 'w');
      try {
        for (let size = PIECE.length; size >= 512; ) {
          const { bytesWritten } = await file.write(PIECE, 0, size).catch(nothingWritten);
          if (bytesWritten < size) size = Math.floor(size / 2);
        }
      } finally {
        await file.close();
      }
    },
    free: async () => rmSync(ballast, { force: true }),
    remove: () => void spawnSync('umount', ['-l', folder]),
  };
}

function nothingWritten(error: NodeJS.ErrnoException): { bytesWritten: number } {
  if (error.code !== 'ENOSPC') throw error;
  return { bytesWritten: 0 };
}

function limitedFiles(folder: string): Disk {
  // As the user that PostgreSQL runs as: even root may lack the right to do it to others.
  const limit = (pid: number, bytes: string) =>
    spawnSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`], {
      ...postgresUser(),
      cwd: '/',
      encoding: 'utf8',
    });
  return {
    how: 'a limit on the size of files (RLIMIT_FSIZE), since no file system can be mounted here',
    folder,
    async fill(postgres) {
      for (const pid of [postgres, ...childrenOf(postgres)]) {
        const { status, stderr } = limit(pid, String(LONGEST_FILE));
        if (pid === postgres && status !== 0) throw new Error(`prlimit: ${stderr}`);
      }
    },
    async free(postgres) {
      if (postgres === null) return;
      for (const pid of [postgres, ...childrenOf(postgres)]) limit(pid, 'unlimited');
    },
    remove: () => {},
  };
}
