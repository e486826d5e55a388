import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { postgresUser } from '../dev/services/postgres-user.ts';
import { isAlive } from '../dev/common/processes.ts';
import { childrenOf } from '../test/support/parts.ts';

/** The folder or file system of PostgreSQL's data, which can be filled. */
export type Disk = {
  /** How it is filled, for the report. */
  method: string;
  folder: string;
  /** Makes every further write fail. `postgres` is the server's process id. */
  fill(postgres: number): Promise<void>;
  free(postgres: number | null): Promise<void>;
  remove(): void;
};

const DISK_BYTES = 768 * 1_048_576;
const CHUNK = Buffer.alloc(1_048_576);
/** A longer file cannot grow. The files of PostgreSQL's write-ahead log have 16 MiB. */
const MAX_FILE_BYTES = 65_536;

/** The prefix of the folders of scenarios. The process id that follows shows later scenarios whether one is in use. */
export const FOLDER_PREFIX = 'baton-faults-';

/** Removes the folders that killed scenarios have left. */
export function removeLeftoverFolders(): void {
  for (const name of readdirSync(tmpdir())) {
    const owner = Number(new RegExp(`^${FOLDER_PREFIX}(\\d+)-`).exec(name)?.[1]);
    if (!(owner > 0) || isAlive(owner)) continue;
    const folder = join(tmpdir(), name);
    if (existsSync(join(folder, 'disk'))) spawnSync('umount', ['-l', join(folder, 'disk')]);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Mounts a small file system if this user may do that. Otherwise it limits the size of files. */
export function prepareDisk(folder: string): Disk {
  const mountPoint = join(folder, 'disk');
  mkdirSync(mountPoint, { mode: 0o711 });
  const mounted = spawnSync('mount', [
    '-t',
    'tmpfs',
    '-o',
    `size=${DISK_BYTES},mode=711`,
    'tmpfs',
    mountPoint,
  ]);
  return mounted.status === 0 ? createSmallDisk(mountPoint) : createLimitedFiles(mountPoint);
}

function createSmallDisk(folder: string): Disk {
  const fillFile = join(folder, 'ballast');
  return {
    method: 'a file system of 768 MiB that is filled completely',
    folder,
    async fill() {
      const file = await open(fillFile, 'w');
      try {
        for (let size = CHUNK.length; size >= 512; ) {
          const { bytesWritten } = await file.write(CHUNK, 0, size).catch(ignoreFullDisk);
          if (bytesWritten < size) size = Math.floor(size / 2);
        }
      } finally {
        await file.close();
      }
    },
    free: async () => rmSync(fillFile, { force: true }),
    remove: () => void spawnSync('umount', ['-l', folder]),
  };
}

function ignoreFullDisk(error: NodeJS.ErrnoException): { bytesWritten: number } {
  if (error.code !== 'ENOSPC') throw error;
  return { bytesWritten: 0 };
}

function createLimitedFiles(folder: string): Disk {
  // As the user that PostgreSQL runs as: even root may lack the right to change the limits of other users' processes.
  const limit = (pid: number, bytes: string) =>
    spawnSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`], {
      ...postgresUser(),
      cwd: '/',
      encoding: 'utf8',
    });
  return {
    method: 'a limit on the size of files (RLIMIT_FSIZE), since no file system can be mounted here',
    folder,
    async fill(postgres) {
      for (const pid of [postgres, ...childrenOf(postgres)]) {
        const { status, stderr } = limit(pid, String(MAX_FILE_BYTES));
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
