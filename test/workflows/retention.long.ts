import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { createRetentionActivities } from '../../src/activities/retention.ts';
import { queryBuilderOf } from '../../src/database/database.ts';
import {
  ago,
  KEPT,
  runActivity,
  startWorld,
  storeDeliveries,
  type World,
  assertGoesInBatches,
} from './old-rows.ts';

describe('the removal of 100,000 old rows', function () {
  this.timeout(180_000);
  let world: World;
  beforeEach(async () => {
    world = await startWorld();
  });
  afterEach(() => world.close());

  it('deletes at most 5,000 rows per batch', async () => {
    await assertGoesInBatches(world, { old: 100_000, young: 1_000 });
  });

  it('scans no whole table', async () => {
    const separate = await startWorld(1);
    try {
      for (const days of [120, 60, 3]) {
        await storeDeliveries(separate, { at: ago(days), rows: 10_000 });
        await storeDeliveries(separate, { at: ago(days - 1), rows: 2_000, status: 'skipped' });
      }
      await sql`analyze`.execute(queryBuilderOf(separate.database));
      const tables = ['events', 'deliveries', 'delivery_attempts', 'event_groups'];
      const before = await sequentialScans(separate, tables);
      const all = createRetentionActivities({ database: separate.database, kept: KEPT });
      const inOrder: (() => Promise<number>)[] = [
        all.eraseEventPayloads,
        all.eraseAnswers,
        all.removeSkipped,
        all.removeDeliveries,
        all.removeEvents,
        all.removeGroups,
      ];
      for (const activity of inOrder) assert.ok((await runActivity(activity)).rows > 0);
      assert.deepEqual(await sequentialScans(separate, tables), before);
    } finally {
      await separate.close();
    }
  });
});

/** Returns the number of sequential scans of each table, by the only connection of the database. */
async function sequentialScans({ database }: World, tables: readonly string[]) {
  const db = queryBuilderOf(database);
  await sql`select pg_stat_force_next_flush()`.execute(db);
  const { rows } = await sql<{ relname: string; seq_scan: string }>`
    select relname, seq_scan from pg_stat_user_tables where relname = any(${[...tables]}::text[]) order by relname
  `.execute(db);
  return rows;
}
