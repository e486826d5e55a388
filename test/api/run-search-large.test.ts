import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { queryBuilderOf, type Database } from '../../src/database/database.ts';
import { listRuns, type RunFilter } from '../../src/database/tasks/task-runs.ts';
import { MAX_INDEXED_RUNS, MAX_RUNS_PER_SEARCH } from '../../src/domain/common/limits.ts';
import { runSearchOf } from '../../src/domain/tasks/run-search.ts';
import { useInstallation } from '../support/installation.ts';

const RUNS = 60_000;
/** The oldest runs, whose title contains a word that no newer one contains. */
const LEGACY = 15_000;
const PAGE = 50;

describe('the search in a list of 60,000 tasks', () => {
  const fresh = useInstallation({ poolSize: 1 });
  let database: Database;
  let projectIds: string[];
  before(async () => {
    ({ database } = fresh);
    projectIds = [fresh.installation.project_id];
    const { workspace_id, project_id } = fresh.installation;
    await queryBuilderOf(database)
      .transaction()
      .execute(async (transaction) => {
        await sql`set local session_replication_role = replica`.execute(transaction);
        // Indexes are created last, which is faster.
        const { rows: indexes } = await sql<{ name: string; definition: string }>`
          select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
          where indrelid = 'task_runs'::regclass and not indisunique
        `.execute(transaction);
        for (const { name } of indexes) await sql`drop index ${sql.raw(name)}`.execute(transaction);
        await sql`
          insert into task_runs (id, workspace_id, project_id, created_by, title, task_type, metadata, callback_secret,
            created_at, updated_at, state, paused_from, completed_at, question)
          select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3)
              || '8' || substr(md5(n::text), 4, 15))::uuid,
            ${workspace_id}::uuid, ${project_id}::uuid, case when n % 10000 = 3 then 'user:rare' else 'key:often' end,
            'A task' || case when n <= ${LEGACY} then ' legacy' else '' end, 'chore',
            json_build_object('order', 'A-' || n), '', at, at,
            case when n % 20000 = 5 then 'paused' else 'completed' end,
            case when n % 20000 = 5 then 'executing' end, case when n % 20000 = 5 then null else at end,
            case when n % 20000 = 5 then '{}'::json end
          from generate_series(1, ${RUNS}) n,
            lateral (select timestamptz '2026-01-01' + n * interval '25 seconds' as at) t
        `.execute(transaction);
        for (const { definition } of indexes) await sql.raw(definition).execute(transaction);
      });
    await sql`analyze task_runs`.execute(queryBuilderOf(database));
  });

  const page = (filter: Partial<RunFilter>, q?: string) => {
    const search = q === undefined ? {} : { search: runSearchOf(q) ?? assert.fail() };
    return listRuns(database, { projectIds, limit: PAGE, ...search, ...filter });
  };

  /** Returns the number of rows of `task_runs` that have been read so far. The pool has one connection. */
  const readSoFar = async (): Promise<number> => {
    await sql`select pg_stat_force_next_flush()`.execute(queryBuilderOf(database));
    const { rows } = await sql<{ read: string }>`
      select seq_tup_read + idx_tup_fetch as read from pg_stat_user_tables where relname = 'task_runs'
    `.execute(queryBuilderOf(database));
    return Number(rows[0]?.read);
  };

  for (const [title, filter, q, count] of [
    ['of the beginning of a rare word', {}, 'A-4711', 11],
    ['of an unused word', {}, 'giraffe', 0],
    ['of an unused id', {}, '019c0000-0000-7000-8000-000000000000', 0],
    ['of a rare submitter', { createdBy: ['user:rare'] }, undefined, 6],
    ['of runs that wait for a person', { needsPerson: true }, undefined, 3],
  ] as const) {
    it(`reads few rows for a page ${title}`, async () => {
      const before = await readSoFar();
      const { rows, nextCursor } = await page(filter, q);
      assert.deepEqual([rows.length, nextCursor], [count, null]);
      const read = (await readSoFar()) - before;
      assert.ok(read < 500, `${read} rows were read`);
    });
  }

  it('fills a page of a frequent word', async () => {
    const { rows, nextCursor } = await page({}, 'task');
    assert.deepEqual([rows.length, nextCursor], [PAGE, rows.at(-1)?.id]);
  });

  it('reads a limited number of runs for each page of a word that only old runs contain, and finds all', async () => {
    assert.ok(LEGACY > MAX_INDEXED_RUNS);
    const found: string[] = [];
    const counts: number[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const { rows, nextCursor } = await page({ limit: 5_000, ...(cursor && { cursor }) }, 'legacy');
      found.push(...rows.map(({ id }) => id));
      counts.push(rows.length);
      cursor = nextCursor;
    }
    const emptyPages = Math.floor((RUNS - LEGACY) / MAX_RUNS_PER_SEARCH);
    assert.deepEqual(counts.slice(0, emptyPages + 1), [...Array(emptyPages).fill(0), 5_000]);
    const { rows } = await sql<{ id: string }>`
      select id from task_runs where title like '%legacy' order by id desc
    `.execute(queryBuilderOf(database));
    assert.deepEqual(
      found,
      rows.map(({ id }) => id),
    );
  });
});
