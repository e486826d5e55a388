import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { startPostgres, withClient, type RunningPostgres } from '../../dev/services/postgres.ts';
import { eventually } from '../support/eventually.ts';

/** A PostgreSQL that archives every segment of its write-ahead log. */
export type Archived = { server: RunningPostgres; archive: string; password: string; folder: string };

/** Starts a server in `folder`, whose log is archived from the beginning. */
export async function startArchived(folder: string, password: string): Promise<Archived> {
  const archive = join(folder, 'archive');
  mkdirSync(archive);
  chmodSync(archive, 0o777); // PostgreSQL may run as another user
  const plan = { dataDir: join(folder, 'postgres'), logFile: join(folder, 'postgres.log'), password };
  const first = await startPostgres(plan);
  await withClient(first.url(), async (client) => {
    await client.query('alter system set archive_mode = on');
    await client.query(`alter system set archive_command = 'cp %p ${archive}/%f'`);
  });
  await first.stop();
  const server = await startPostgres({ ...plan, port: first.port, samePort: true });
  return { server, archive, password, folder };
}

/** Copies the cluster while it is running. Returns the folder of the copy. */
export async function takeBaseBackup({ server, folder }: Archived): Promise<string> {
  const base = join(folder, 'base');
  await withClient(server.url(), async (client) => {
    await client.query(`select pg_backup_start('drill', true)`);
    copy(join(folder, 'postgres', 'data'), base);
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop()');
    leave(base, 'backup_label', rows[0]?.labelfile ?? '');
  });
  rmSync(join(base, 'postmaster.pid'), { force: true });
  for (const name of readdirSync(join(base, 'pg_wal')))
    rmSync(join(base, 'pg_wal', name), { recursive: true });
  return base;
}

/** Archives everything that was written so far. */
export async function archiveAll({ server }: Archived): Promise<void> {
  await withClient(server.url(), async (client) => {
    const { rows } = await client.query<{ name: string }>('select pg_walfile_name(pg_switch_wal()) as name');
    const name = rows[0]?.name ?? '';
    await eventually(
      'the last segment is archived',
      async () => {
        const { rows: archived } = await client.query<{ last: string | null }>(
          'select last_archived_wal as last from pg_stat_archiver',
        );
        return (archived[0]?.last ?? '') >= name;
      },
      60_000,
    );
  });
}

/** Restores a base backup in a new folder, up to a time or to the end of the archive, and starts it. */
export async function restore(
  { archive, password, folder }: Archived,
  base: string,
  { name, until }: { name: string; until: string | null },
): Promise<RunningPostgres> {
  const home = join(folder, name);
  mkdirSync(home);
  const data = join(home, 'data');
  copy(base, data);
  const settings = [
    'archive_mode = off',
    `restore_command = 'cp ${archive}/%f %p'`,
    "recovery_target_action = 'promote'",
    ...(until === null ? [] : [`recovery_target_time = '${until}'`]),
  ];
  appendFileSync(join(data, 'postgresql.auto.conf'), `${settings.join('\n')}\n`);
  leave(data, 'recovery.signal', '');
  const server = await startPostgres({ dataDir: home, logFile: join(folder, `${name}.log`), password });
  await eventually(
    'the restored server takes writes',
    () =>
      withClient(server.url(), async (client) => {
        const { rows } = await client.query<{ still: boolean }>('select pg_is_in_recovery() as still');
        return rows[0]?.still === false;
      }),
    60_000,
  );
  return server;
}

function copy(from: string, to: string): void {
  const { status, stderr } = spawnSync('cp', ['-a', from, to], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
}

/** Writes a file into a cluster, with the same owner as the cluster. */
function leave(data: string, name: string, text: string): void {
  const { uid, gid } = statSync(data);
  writeFileSync(join(data, name), text, { mode: 0o600 });
  chownSync(join(data, name), uid, gid);
}
