import assert from 'node:assert/strict';
import { Client } from 'pg';
import { withClient } from '../../dev/services/postgres.ts';
import { connectDatabase } from '../../src/database/connect.ts';
import { migrate } from '../../src/database/migrate.ts';
import { MIGRATIONS } from '../../src/database/migrations/all.ts';
import { checkSchema } from '../../src/database/schema.ts';
import { eventually } from '../support/eventually.ts';
import { freshDatabase } from '../support/services.ts';
import { harmsOf, readCatalog } from './catalog.ts';
import { addMigration, emptyDatabase, strongerLocksAfterBuild } from './test-migrations.ts';

/** Changes that are not safe while the previous version runs, and why they exist. */
const ALLOWED: Record<string, { harms: string[]; because: string }> = {
  M0002KeyNotices: {
    harms: ['trigger api_keys_tell on api_keys is new'],
    because: 'it only tells; the version before does not listen',
  },
  M0005Channel: {
    harms: ['lock: task_events is rewritten'],
    because: 'made before there was an installation whose service had to continue during an upgrade',
  },
  M0008Agents: {
    harms: [
      'constraint task_runs.task_runs_rerun_of_fkey is new: FOREIGN KEY (rerun_of) REFERENCES task_runs(id) ON DELETE SET NULL',
    ],
    because: 'of a column that is new as well, which the version before leaves empty',
  },
  M0015EndedCredentials: {
    harms: ['trigger sessions_tell on sessions is new', 'trigger members_tell on members is new'],
    because: 'it only notifies; to the version before they are ids of no key',
  },
};

describe('migrations', () => {
  let drop: () => Promise<void> = async () => {};
  const onEmptyDatabase = async (): Promise<string> => {
    const database = await emptyDatabase();
    ({ drop } = database);
    return database.url;
  };
  afterEach(() => drop());

  /** Returns the effects of one more migration on the previous version. */
  async function harmsOfOneMore(statement: string): Promise<string[]> {
    const database = await freshDatabase();
    ({ drop } = database);
    const catalog = () => withClient(database.url, readCatalog);
    const before = await catalog();
    await migrate(database.url, [...MIGRATIONS, addMigration('M9999Planted', statement)]);
    return harmsOf(before, await catalog());
  }

  it("only add to the previous version's schema, with listed exceptions", async () => {
    const url = await onEmptyDatabase();
    const found: Record<string, string[]> = {};
    let before = await withClient(url, readCatalog);
    for (const [index, { name: one }] of MIGRATIONS.entries()) {
      await migrate(url, MIGRATIONS.slice(0, index + 1));
      const after = await withClient(url, readCatalog);
      const harms = harmsOf(before, after);
      if (harms.length > 0 && !one.includes('Contract')) found[one] = harms;
      before = after;
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
      /^lock: webhooks is rewritten$/,
    ],
  ] as const) {
    it(`are reported as incompatible: ${statement.slice(0, 70)}`, async () => {
      const harms = await harmsOfOneMore(statement);
      assert.ok(
        harms.some((one) => harm.test(one)),
        `${statement}: ${JSON.stringify(harms)}`,
      );
    });
  }

  it('take no stronger lock on a table after an index of it was built', () => {
    for (const one of MIGRATIONS) assert.deepEqual(strongerLocksAfterBuild(one), [], one.name);
    const build = 'create index if not exists more on webhooks (name)';
    for (const statement of [
      'alter table webhooks alter column name type varchar(20)',
      'drop index webhooks_by_workspace',
      'create trigger told after update on webhooks execute function tell_of_key()',
    ])
      assert.deepEqual(strongerLocksAfterBuild(addMigration('M9999', `${build}; ${statement};`)), [
        statement,
      ]);
    assert.deepEqual(
      strongerLocksAfterBuild(addMigration('M9999', `${build}; alter table users add n text`)),
      [],
    );
  });

  it('that an earlier build had as one migration change nothing there', async () => {
    const fresh = await freshDatabase();
    ({ drop } = fresh);
    const read = () =>
      withClient(fresh.url, async (client) => ({
        catalog: await readCatalog(client),
        indexes: (
          await client.query(
            "select relname, relfilenode from pg_class where relkind = 'i' and relname ~ '^(events|deliver)' order by relname",
          )
        ).rows,
      }));
    const before = await read();
    await withClient(fresh.url, (client) => client.query("delete from migrations where name >= 'M0034'"));
    await migrate(fresh.url);
    assert.deepEqual(await read(), before);
  });

  it('may add tables, columns and indexes', async () => {
    const harms = await harmsOfOneMore(
      `create table more (id uuid primary key, webhook_id uuid references webhooks);
       alter table webhooks add column note text, add column weight integer not null default 0;
       create index webhooks_by_note on webhooks (note);`,
    );
    assert.deepEqual(harms, []);
  });

  it('are named, with what to do, if they are missing', async () => {
    const url = await onEmptyDatabase();
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
      await migrate(url, [
        ...MIGRATIONS,
        addMigration('M9998More', 'create table more (id uuid primary key)'),
      ]);
      await checkSchema(database);
      await migrate(url, [
        ...MIGRATIONS,
        addMigration('M9998More', ''),
        addMigration('M9999ContractLess', 'alter table webhooks drop column name'),
      ]);
      await assert.rejects(checkSchema(database), /too new for this version: M9999ContractLess removed/);
    } finally {
      await database.close();
    }
  });

  it('that cannot lock a table let other statements proceed, and try again', async () => {
    const fresh = await freshDatabase();
    ({ drop } = fresh);
    const { url } = fresh;
    const [holder, reader] = [new Client({ connectionString: url }), new Client({ connectionString: url })];
    await Promise.all([holder.connect(), reader.connect()]);
    for (const client of [holder, reader]) client.on('error', () => {}); // reported by the query that fails
    try {
      await holder.query('begin');
      await holder.query('select count(*) from webhooks');
      let isDone = false;
      const migrating = migrate(url, [
        ...MIGRATIONS,
        addMigration('M9999More', 'alter table webhooks add column more text'),
      ]).then(() => (isDone = true));
      const isWaiting = () =>
        reader
          .query(
            `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like 'alter table webhooks%'`,
          )
          .then(({ rowCount }) => rowCount === 1);
      await eventually('it waits for the table', isWaiting);
      // It waits behind the migration, and gets its result although the table is still locked.
      await reader.query('select count(*) from webhooks');
      assert.equal(isDone, false);
      await holder.query('commit');
      await migrating;
      await reader.query('select more from webhooks');
    } finally {
      await Promise.allSettled([holder.end(), reader.end()]);
    }
  });
});
