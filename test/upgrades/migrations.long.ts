import assert from 'node:assert/strict';
import { withClient } from '../../dev/services/postgres.ts';
import { migrate } from '../../src/database/migrate.ts';
import { MIGRATIONS } from '../../src/database/migrations/all.ts';
import { cliWith } from '../cli/cli-process.ts';
import { type FreshDatabase, services } from '../support/services.ts';
import { useFleets } from './fleet.ts';
import { emptyDatabase, addMigration } from './test-migrations.ts';

/** Number of rows that are added to every table. */
const ROUNDS = 5;

describe('migrations with several processes', function () {
  this.timeout(120_000);
  const startFleet = useFleets();
  let database: FreshDatabase;
  let url: string;
  beforeEach(async () => {
    database = await emptyDatabase();
    ({ url } = database);
  });
  afterEach(() => database.drop());

  it('run once if several processes start them at the same time', async () => {
    const cli = cliWith({ DATABASE_URL: url });
    const done = await Promise.all(Array.from({ length: 3 }, () => cli.spawn(['admin', 'migrate']).ended));
    assert.deepEqual(
      done.map(({ code }) => code),
      [0, 0, 0],
      JSON.stringify(done),
    );
    const { rows } = await withClient(url, (client) =>
      client.query('select name from migrations order by id'),
    );
    assert.deepEqual(
      rows.map((row: { name: string }) => row.name),
      MIGRATIONS.map((one) => one.name),
    );
    await cli.cleanUp();
  });

  it('that are incomplete prevent every process from starting', async () => {
    await migrate(url, MIGRATIONS.slice(0, -1));
    const nobody = { workspace_id: '', project_id: '', api_key: '', admin_email: '', admin_password: '' };
    const fleet = await startFleet(
      {},
      { databaseUrl: url, temporalAddress: services().temporalAddress, installation: nobody },
    );
    const sentence = new RegExp(`the database lacks ${MIGRATIONS.at(-1)?.name}: run`);
    await Promise.all(
      (['api', 'gateway', 'worker', 'deliveryWorker'] as const).map((kind) =>
        assert.rejects(fleet.start({ kind, build: null }), sentence, kind),
      ),
    );
  });

  it('do not disturb a running service', async () => {
    const fleet = await startFleet();
    const [api] = await fleet.startAll();
    // By now, each connection has prepared its statements.
    const begun = await submitMany(30);
    const { rows } = await withClient(fleet.databaseUrl, (client) =>
      client.query<{ name: string }>(
        `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
         and relname <> 'migrations' order by 1`,
      ),
    );
    const additions = Array.from({ length: ROUNDS }, (_, round) =>
      rows.map(({ name: table }, index) =>
        addMigration(
          `M9${round}${String(index).padStart(2, '0')}More`,
          `alter table ${table} add column added_${round} integer not null default 0`,
        ),
      ),
    );
    assert.ok(rows.length >= 20, `${rows.length} tables`);
    const migrating = async () => {
      for (let round = 1; round <= ROUNDS; round += 1) {
        await migrate(fleet.databaseUrl, [...MIGRATIONS, ...additions.slice(0, round).flat()]);
      }
    };
    const [during] = await Promise.all([submitMany(100), migrating()]);
    const after = await submitMany(30);
    for (const id of [...begun, ...during, ...after]) await fleet.reaches(api, id, 'completed');
    for (const path of ['/api/v1/tasks', '/api/v1/webhooks', `/api/v1/tasks/${begun[0]}/events`]) {
      assert.equal((await fleet.send(api, 'GET', path)).status, 200, path);
    }
    const again = await fleet.start({ kind: 'api', build: null });
    await fleet.reaches(again, await fleet.submit(again), 'completed');

    /** By several processes at once, so that their transactions overlap. */
    async function submitMany(count: number): Promise<string[]> {
      const ids: string[] = [];
      const submitOn = async () => {
        while (ids.length < count) {
          ids.push(await fleet.submit(api, { metadata: { rehearsal: { steps: 2, step_ms: 50 } } }));
        }
      };
      await Promise.all(Array.from({ length: 6 }, submitOn));
      return ids;
    }
  });
});
