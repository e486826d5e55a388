import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { startPostgres, type RunningPostgres } from '../../dev/postgres.ts';
import { startTemporal, type RunningTemporal } from '../../dev/temporal.ts';
import { bootstrap, type ApiProcess } from '../../src/api/server.ts';
import { migrate } from '../../src/database/migrate.ts';
import { eventually } from '../support/eventually.ts';
import { keyWith } from './keys.ts';
import { assertProblem } from './problems.ts';
import { startWorld, type Received, type World } from '../support/world.ts';

const PATH = '/api/v1/events';
const event = (id?: string) => ({ id, event: 'issue.created', data: { issue: { id: '1' } } });

async function countOf(world: World, where: string): Promise<number> {
  const pool = await world.database.em.getConnection().getNativeClient();
  const { rows } = await pool.query<{ n: number }>(`select count(*)::int as n from ${where}`);
  return rows[0]?.n ?? -1;
}

describe('events that come in', () => {
  describe('without Temporal or PostgreSQL', () => {
    const folder = mkdtempSync(join(tmpdir(), 'baton-events-'));
    // PostgreSQL runs as another user when the tests run as root.
    chmodSync(folder, 0o711);
    let world: World;
    let key: string;
    let postgres: RunningPostgres;
    let temporal: RunningTemporal;
    const startBase = (port?: number) =>
      startPostgres({
        dataDir: join(folder, 'postgres'),
        logFile: join(folder, 'postgres.log'),
        password: 'test',
        ...(port ? { port } : {}),
      });
    const startEngine = (port?: number) =>
      startTemporal({
        logFile: join(folder, 'temporal.log'),
        dbFile: join(folder, 'temporal.db'),
        ...(port ? { port } : {}),
      });
    const post = (body: unknown) => world.send('POST', PATH, { key, body });
    const isTaken = async () => (await post(event())).status === 202;

    before(async () => {
      [postgres, temporal] = await Promise.all([startBase(), startEngine()]);
      await migrate(postgres.url());
      world = await startWorld({
        worker: false,
        database: { url: postgres.url(), drop: async () => {} },
        temporalAddress: temporal.address,
      });
      key = await keyWith(world, ['events:write']);
    }).timeout(60_000);
    after(async () => {
      await world.close();
      await Promise.all([postgres.stop(), temporal.stop()]);
      rmSync(folder, { recursive: true, force: true });
    });

    it('are refused with 503 and not stored while Temporal is away, apart from known ones', async () => {
      assert.equal((await post(event('known'))).status, 202);
      await eventually(
        'it is noted',
        async () => (await countOf(world, 'event_groups where started_at is null')) === 0,
      );
      const before = await countOf(world, 'events');
      await temporal.kill();
      const answers = await Promise.all([
        post(event('single')),
        post({ events: [event('many-1'), event('many-2')] }),
        ...Array.from({ length: 10 }, (_, index) => post(event(`more-${index}`))),
      ]);
      for (const received of answers) {
        assertProblem(received, 503, 'unavailable');
        assert.ok(received.headers.get('retry-after'));
      }
      assert.equal(await countOf(world, 'events'), before);
      assert.equal(await countOf(world, 'event_groups where started_at is null'), 0);
      assert.deepEqual((await post(event('known'))).json, { id: 'known', duplicate: true });
      temporal = await startEngine(temporal.port);
      await eventually('events are taken again', isTaken);
      assert.equal((await post(event('single'))).json.duplicate, false);
    }).timeout(90_000);

    it('are refused with 503 while PostgreSQL is away', async () => {
      await postgres.kill();
      for (const body of [event('dry'), { events: [event('dry-1')] }]) {
        assertProblem(await post(body), 503, 'unavailable');
      }
      postgres = await startBase(postgres.port);
      await eventually('events are taken again', isTaken);
      assert.equal((await post(event('dry'))).json.duplicate, false);
    }).timeout(60_000);
  });

  describe('at two processes at once', () => {
    let world: World;
    let second: ApiProcess;
    let key: string;
    before(async () => {
      world = await startWorld();
      second = await bootstrap(world.configuration, pino({ level: 'silent' }));
      key = await keyWith(world, ['events:write']);
    });
    after(async () => {
      await second.close();
      await world.close();
    });

    it('are stored once', async () => {
      const post = async (url: string, body: unknown): Promise<Pick<Received, 'status' | 'json'>> => {
        const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
        const response = await fetch(`${url}${PATH}`, {
          method: 'POST',
          headers,
          body: JSON.stringify(body),
        });
        return { status: response.status, json: await response.json() };
      };
      for (let round = 0; round < 5; round += 1) {
        const one = event(`two-${round}`);
        const answers = await Promise.all(
          Array.from({ length: 20 }, (_, index) =>
            post(index % 2 ? world.api.url : second.url, index % 4 < 2 ? one : { events: [one] }),
          ),
        );
        const told = answers.map(({ json }) => (json.data?.[0] ?? json).duplicate);
        assert.equal(told.filter((duplicate) => duplicate === false).length, 1, JSON.stringify(answers));
        assert.equal(told.filter((duplicate) => duplicate === true).length, 19);
        assert.equal(await countOf(world, `events where id = '${one.id}'`), 1);
      }
    });

    it('are started by the reconciler where their process died before it did', async () => {
      const pool = await world.database.em.getConnection().getNativeClient();
      await pool.query(`
        with grouped as (
          insert into event_groups (id, created_at) values (gen_random_uuid(), now() - interval '4 s') returning id
        )
        insert into events (workspace_id, id, group_id, event, "timestamp", content_hash, body, received_at)
        select '${world.installation.workspace_id}', 'cut-off', id, 'issue.created', now(), '\\x00', '{}', now()
        from grouped
      `);
      const open = `event_groups where started_at is null and created_at < now() - interval '3 s'`;
      await eventually('the group is started', async () => (await countOf(world, open)) === 0);
      assert.match(world.logged(), /started a group of events whose request was cut off/);
    });
  });
});
