import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres, withClient, type RunningPostgres } from '../../dev/services/postgres.ts';
import { isDatabaseOutage } from '../../src/database/common/outage.ts';
import { connectDatabase } from '../../src/database/connect.ts';
import { eventually } from '../support/eventually.ts';
import { services } from '../support/services.ts';

/** Returns what PostgreSQL reports about a connection that our processes open with this URL. */
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

describe('DATABASE_URL', function () {
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

  it('enforces TLS with sslmode=verify-full', async () => {
    assert.equal((await seenBy(postgres.url())).ssl, false);
    await assert.rejects(seenBy(`${postgres.url()}?sslmode=verify-full`), /does not support SSL/);
    await switchTlsOn();
    const authority = encodeURIComponent(services().tlsFiles.ca);
    const url = `${postgres.url()}?sslmode=verify-full&sslrootcert=${authority}&application_name=ours`;
    const settings = await eventually('the server has read its settings', () =>
      seenBy(url).catch(() => null),
    );
    assert.deepEqual(settings, { ssl: true, application_name: 'ours' });
    await assert.rejects(seenBy(`${postgres.url()}?sslmode=verify-full`), /certificate/);
  });

  it('sets default time limits for each connection, and can override them', async () => {
    const limitsOf = async (url: string) => {
      const database = await connectDatabase(url, 1);
      try {
        const [row] = await database.em.fork().execute<Record<string, string>[]>(
          `select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
             current_setting('idle_in_transaction_session_timeout') as idle`,
        );
        return row;
      } finally {
        await database.close();
      }
    };
    assert.deepEqual(await limitsOf(postgres.url()), { statement: '2min', lock: '10s', idle: '1min' });
    const changed = await limitsOf(`${postgres.url()}?lock_timeout=30000`);
    assert.deepEqual(changed, { statement: '2min', lock: '30s', idle: '1min' });
  });

  it('sets time limits that count as an outage when they are exceeded, so that work is retried', async () => {
    const database = await connectDatabase(`${postgres.url()}?lock_timeout=1&statement_timeout=50`, 2);
    try {
      const holder = database.em.fork();
      await holder.begin();
      await holder.execute('select pg_advisory_xact_lock(1)');
      await assert.rejects(database.em.fork().execute('select pg_advisory_xact_lock(1)'), isDatabaseOutage);
      await assert.rejects(database.em.fork().execute('select pg_sleep(60)'), isDatabaseOutage);
      await holder.rollback();
    } finally {
      await database.close();
    }
  });

  async function switchTlsOn(): Promise<void> {
    await withClient(postgres.url(), async (client) => {
      const { rows } = await client.query<{ data_directory: string }>('show data_directory');
      const dataFolder = rows[0]?.data_directory ?? '';
      const { uid, gid } = statSync(dataFolder);
      for (const name of ['cert', 'key'] as const) {
        const file = join(dataFolder, `tls-${name}.pem`);
        writeFileSync(file, services().tls[name], { mode: 0o600 });
        chownSync(file, uid, gid);
        await client.query(`alter system set ssl_${name}_file = 'tls-${name}.pem'`);
      }
      await client.query('alter system set ssl = on');
      await client.query('select pg_reload_conf()');
    });
  }
});
