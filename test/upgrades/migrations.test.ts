import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Migration } from '@mikro-orm/migrations';
import { Client } from 'pg';
import { withClient } from '../../dev/postgres.ts';
import { connectDatabase } from '../../src/database/connect.ts';
import { migrate } from '../../src/database/migrate.ts';
import { MIGRATIONS } from '../../src/database/migrations/all.ts';
import { checkSchema } from '../../src/database/schema.ts';
import { cliWith } from '../cli/cli-process.ts';
import { eventually } from '../support/eventually.ts';
import { services } from '../support/services.ts';
import { harmsOf, readCatalog } from './catalog.ts';
import { startFleet } from './fleet.ts';

/** What is not safe beside the version before, and why it is there nevertheless. */
const ALLOWED: Record<string, { harms: string[]; because: string }> = {
  M0002KeyNotices: {
    harms: ['trigger api_keys_tell on api_keys is new'],
    because: 'it only tells; the version before does not listen',
  },
  M0005Channel: {
    harms: ['lock: task_events is written anew'],
    because: 'made before there was an installation whose service had to go on meanwhile',
  },
  M0008Agents: {
    harms: [
      'constraint task_runs.task_runs_rerun_of_fkey is new: FOREIGN KEY (rerun_of) REFERENCES task_runs(id) ON DELETE SET NULL',
    ],
    because: 'of a column that is new as well, which the version before leaves empty',
  },
};

/** How often every table is added to. */
const ROUNDS = 5;

function planted(name: string, statement: string) {
  const Planted = class extends Migration {
    override up(): void {
      this.addSql(statement);
    }
  };
  return { name, class: Planted };
}

async function asOwner(statement: string): Promise<void> {
  await withClient(services().databaseUrl('postgres'), (client) => client.query(statement));
}

describe('migrations', function () {
  this.timeout(120_000);
  let url: string;
  let name: string;
  beforeEach(async () => {
    name = `test_${randomBytes(6).toString('hex')}`;
    await asOwner(`create database ${name}`);
    url = services().databaseUrl(name);
  });
  afterEach(() => asOwner(`drop database if exists ${name} with (force)`));

  /** What the last of these migrations does to the version before. */
  async function harmsOfLast(migrations: typeof MIGRATIONS): Promise<string[]> {
    const catalog = () => withClient(url, readCatalog);
    await migrate(url, migrations.slice(0, -1));
    const before = await catalog();
    await migrate(url, migrations);
    return harmsOf(before, await catalog());
  }

  it('only add to what the version before works with, apart from what is listed with its reason', async () => {
    const found: Record<string, string[]> = {};
    for (const [index, { name: one }] of MIGRATIONS.entries()) {
      const harms = await harmsOfLast(MIGRATIONS.slice(0, index + 1));
      if (harms.length > 0 && !one.includes('Contract')) found[one] = harms;
    }
    const allowed = Object.entries(ALLOWED).map(([one, { harms }]) => [one, harms]);
    assert.deepEqual(found, Object.fromEntries(allowed));
  });

  for (const [statement, harm] of [
    ['alter table webhooks drop column name', /^column webhooks.name is gone$/],
    ['alter table webhooks rename column name to title', /^column webhooks.name is gone$/],
    ['drop table watched_webhooks', /^column watched_webhooks.webhook_id is gone$/],
    ['alter table api_keys rename to keys', /^column api_keys.id is gone$/],
    ['alter table webhooks alter column name type varchar(20)', /^column webhooks.name changes its type/],
    ['alter table webhooks add column place text not null', /^column webhooks.place is new and needed$/],
    [
      'alter table task_runs alter column description set not null',
      /^column task_runs.description may not be left out/,
    ],
    ['alter table webhooks alter column name drop not null', /^column webhooks.name may be null/],
    [
      'alter table webhooks add constraint short check (length(name) < 20)',
      /^constraint webhooks.short is new/,
    ],
    ['create unique index by_name on webhooks (name)', /^index webhooks.by_name is new and unique$/],
    [
      'alter table projects drop constraint projects_workspace_id_key_key',
      /^constraint projects.projects_workspace_id_key_key is gone$/,
    ],
    [
      'create or replace function tell_of_key() returns trigger language plpgsql as $$ begin return null; end $$',
      /^function tell_of_key\(\) is another one$/,
    ],
    ['drop trigger api_keys_tell on api_keys', /^trigger api_keys_tell on api_keys is gone$/],
    [
      'alter table webhooks add column at timestamptz not null default clock_timestamp()',
      /^lock: webhooks is written anew$/,
    ],
  ] as const) {
    it(`are found to do harm by: ${statement.slice(0, 70)}`, async () => {
      const harms = await harmsOfLast([...MIGRATIONS, planted('M9999Planted', statement)]);
      assert.ok(
        harms.some((one) => harm.test(one)),
        `${statement}: ${JSON.stringify(harms)}`,
      );
    });
  }

  it('may add tables, columns and indexes', async () => {
    const harms = await harmsOfLast([
      ...MIGRATIONS,
      planted(
        'M9999Planted',
        `create table more (id uuid primary key, webhook_id uuid references webhooks);
         alter table webhooks add column note text, add column weight integer not null default 0;
         create index webhooks_by_note on webhooks (note);`,
      ),
    ]);
    assert.deepEqual(harms, []);
  });

  it('are made once where several processes begin together', async () => {
    const cli = cliWith({ DATABASE_URL: url });
    const done = await Promise.all(Array.from({ length: 3 }, () => cli.run(['admin', 'migrate'])));
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
    cli.cleanUp();
  });

  it('that a process needs and does not find are named, and what to do', async () => {
    const database = await connectDatabase(url, 1);
    try {
      await assert.rejects(checkSchema(database), /the database lacks its schema: run `baton admin migrate`/);
      await migrate(url, MIGRATIONS.slice(0, -2));
      const lastTwo = MIGRATIONS.slice(-2)
        .map((one) => one.name)
        .join(', ');
      await assert.rejects(checkSchema(database), new RegExp(`the database lacks ${lastTwo}: run`));
      await migrate(url);
      await checkSchema(database);
      await migrate(url, [...MIGRATIONS, planted('M9998More', 'create table more (id uuid primary key)')]);
      await checkSchema(database);
      await migrate(url, [
        ...MIGRATIONS,
        planted('M9998More', ''),
        planted('M9999ContractLess', 'alter table webhooks drop column name'),
      ]);
      await assert.rejects(
        checkSchema(database),
        /too new for this version: M9999ContractLess has taken away/,
      );
    } finally {
      await database.close();
    }
  });

  it('of which one is missing keep every kind of process from starting', async () => {
    await migrate(url, MIGRATIONS.slice(0, -1));
    const nobody = { workspace_id: '', project_id: '', api_key: '', admin_email: '', admin_password: '' };
    const fleet = await startFleet(
      {},
      { databaseUrl: url, temporalAddress: services().temporalAddress, installation: nobody },
    );
    try {
      const sentence = new RegExp(`the database lacks ${MIGRATIONS.at(-1)?.name}: run`);
      await Promise.all(
        (['api', 'gateway', 'worker', 'deliveryWorker'] as const).map((kind) =>
          assert.rejects(fleet.start({ kind, build: null }), sentence, kind),
        ),
      );
    } finally {
      await fleet.close();
    }
  });

  it('that do not get hold of a table let others pass, and try again', async () => {
    await migrate(url);
    const [holder, reader] = [new Client({ connectionString: url }), new Client({ connectionString: url })];
    await Promise.all([holder.connect(), reader.connect()]);
    for (const client of [holder, reader]) client.on('error', () => {}); // said by the query that notices
    try {
      await holder.query('begin');
      await holder.query('select count(*) from webhooks');
      let isDone = false;
      const migrating = migrate(url, [
        ...MIGRATIONS,
        planted('M9999More', 'alter table webhooks add column more text'),
      ]).then(() => (isDone = true));
      const isWaiting = () =>
        reader
          .query(
            `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like 'alter table webhooks%'`,
          )
          .then(({ rowCount }) => rowCount === 1);
      await eventually('it waits for the table', isWaiting);
      // Behind it, and answered although the table is still held.
      await reader.query('select count(*) from webhooks');
      assert.equal(isDone, false);
      await holder.query('commit');
      await migrating;
      await reader.query('select more from webhooks');
    } finally {
      await Promise.allSettled([holder.end(), reader.end()]);
    }
  });

  it('that only add go by unnoticed under a service at work', async () => {
    const fleet = await startFleet();
    try {
      const [api] = await Promise.all([
        fleet.start({ kind: 'api', build: null }),
        fleet.start({ kind: 'worker', build: null }),
        fleet.start({ kind: 'deliveryWorker', build: null }),
      ]);
      // By now each connection has its statements prepared.
      const begun = await submitMany(30);
      const { rows } = await withClient(fleet.databaseUrl, (client) =>
        client.query<{ name: string }>(
          `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
           and relname <> 'migrations' order by 1`,
        ),
      );
      const additions = Array.from({ length: ROUNDS }, (_, round) =>
        rows.map(({ name: table }, index) =>
          planted(
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
      const [meanwhile] = await Promise.all([submitMany(100), migrating()]);
      const after = await submitMany(30);
      for (const id of [...begun, ...meanwhile, ...after]) await fleet.reaches(api, id, 'completed');
      for (const path of ['/api/v1/tasks', '/api/v1/webhooks', `/api/v1/tasks/${begun[0]}/events`]) {
        assert.equal((await fleet.send(api, 'GET', path)).status, 200, path);
      }
      const again = await fleet.start({ kind: 'api', build: null });
      await fleet.reaches(again, await fleet.submit(again), 'completed');

      /** By several at once, so that their transactions meet. */
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
    } finally {
      await fleet.close();
    }
  });
});
