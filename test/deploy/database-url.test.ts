import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres, withClient, type RunningPostgres } from '../../dev/services/postgres.ts';
import { connectDatabase } from '../../src/database/connect.ts';
import { eventually } from '../support/eventually.ts';
import { services } from '../support/services.ts';

/** What PostgreSQL knows of a connection that our processes open with this address. */
async function seenBy(url: string): Promise<{ ssl: boolean; application_name: string }> {
  const database = await connectDatabase(url, 1);
  try {
    const [row] = await database.em
      .fork()
      .execute<{ ssl: boolean; application_name: string }[]>(
        'select ssl, application_name from pg_stat_ssl join pg_stat_activity using (pid) where pid = pg_backend_pid()',
      );
    assert.ok(row);
    return row;
  } finally {
    await database.close();
  }
}

describe("the database's address", function () {
  let folder: string;
  let postgres: RunningPostgres;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'baton-database-'));
    chmodSync(folder, 0o711); // PostgreSQL may run as another user
    const logFile = join(folder, 'postgres.log');
    postgres = await startPostgres({
      dataDir: join(folder, 'postgres'),
      logFile,
      password: 'secret',
      durable: false,
    });
  });

  after(async () => {
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('may ask for TLS, which is then insisted on', async () => {
    assert.equal((await seenBy(postgres.url())).ssl, false);
    await assert.rejects(seenBy(`${postgres.url()}?sslmode=verify-full`), /does not support SSL/);
    await switchTlsOn();
    const authority = encodeURIComponent(services().tlsFiles.ca);
    const url = `${postgres.url()}?sslmode=verify-full&sslrootcert=${authority}&application_name=ours`;
    const told = await eventually('the server has read its settings', () => seenBy(url).catch(() => null));
    assert.deepEqual(told, { ssl: true, application_name: 'ours' });
    await assert.rejects(seenBy(`${postgres.url()}?sslmode=verify-full`), /certificate/);
  });

  async function switchTlsOn(): Promise<void> {
    await withClient(postgres.url(), async (client) => {
      const { rows } = await client.query<{ data_directory: string }>('show data_directory');
      const place = rows[0]?.data_directory ?? '';
      const { uid, gid } = statSync(place);
      for (const name of ['cert', 'key'] as const) {
        const file = join(place, `tls-${name}.pem`);
        writeFileSync(file, services().tls[name], { mode: 0o600 });
        chownSync(file, uid, gid);
        await client.query(`alter system set ssl_${name}_file = 'tls-${name}.pem'`);
      }
      await client.query('alter system set ssl = on');
      await client.query('select pg_reload_conf()');
    });
  }
});
