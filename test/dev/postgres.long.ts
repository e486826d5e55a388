import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { placeFor } from '../../dev/services/postgres-place.ts';
import { type RunningPostgres, startPostgres, withClient } from '../../dev/services/postgres.ts';

describe('the embedded PostgreSQL', function () {
  let folder: string;
  const started: RunningPostgres[] = [];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'baton-postgres-'));
    chmodSync(folder, 0o711);
  });

  afterEach(async () => {
    await Promise.all(started.splice(0).map((one) => one.kill()));
    rmSync(folder, { recursive: true, force: true });
  });

  const start = async (plan: Parameters<typeof startPostgres>[0]): Promise<RunningPostgres> => {
    const running = await startPostgres(plan);
    started.push(running);
    return running;
  };

  const plan = () => ({
    dataDir: join(folder, 'postgres'),
    logFile: join(folder, 'postgres.log'),
    password: 'not/a:plain@password',
  });

  it('keeps its data and port after it is killed', async () => {
    const first = await start(plan());
    await withClient(first.url(), (client) => client.query('create table kept (id int)'));
    await first.kill();
    const second = await start({ ...plan(), port: first.port, samePort: true });
    assert.equal(second.url(), first.url());
    const kept = await withClient(second.url(), (client) => client.query('select * from kept'));
    assert.equal(kept.rowCount, 0);
    await second.stop();
  });

  it('stops a server that was left over on the same data, then starts', async () => {
    const left = await start(plan());
    const messages: string[] = [];
    const next = await start({ ...plan(), say: (sentence) => messages.push(sentence) });
    assert.deepEqual(messages, [`stopped PostgreSQL (process ${left.pid}), left over from an earlier start`]);
    assert.deepEqual(await left.ended, { code: 0, signal: null });
    await next.stop();
  });

  it('does not stop another process that has the pid of an earlier server', async () => {
    await (await start(plan())).stop();
    const { home } = placeFor(plan().dataDir);
    const stale = join(home, 'data', 'postmaster.pid');
    writeFileSync(stale, `${process.pid}\n${join(home, 'data')}\n`); // this process, which is not PostgreSQL
    const next = await start(plan());
    assert.equal(Number(readFileSync(stale, 'utf8').split('\n')[0]), next.pid);
    await next.stop();
  });

  it('stores its data elsewhere if its user cannot access the checkout', async function () {
    if (process.getuid?.() !== 0) this.skip(); // only root needs another user
    chmodSync(folder, 0o700);
    const messages: string[] = [];
    const running = await start({ ...plan(), say: (sentence) => messages.push(sentence) });
    await running.stop();
    const { home } = placeFor(plan().dataDir);
    try {
      assert.match(home, /^\/var\/lib\/baton-postgres-[0-9a-f]{8}$/);
      assert.match(
        String(messages[0]),
        /The user that runs PostgreSQL cannot access .*; its data is in \/var/,
      );
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  });

  it('explains what to do if no folder is accessible', function () {
    if (process.getuid?.() !== 0) this.skip();
    chmodSync(folder, 0o700);
    assert.throws(() => placeFor(plan().dataDir, folder), /Move the checkout, .* or set DATABASE_URL/);
  });
});
