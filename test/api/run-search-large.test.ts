import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { derivedUuid } from '../../src/database/common/ids.ts';
import { queryBuilderOf, type Database } from '../../src/database/database.ts';
import { listChangedRuns, type ChangedRunFilter } from '../../src/database/tasks/changed-runs.ts';
import { countRuns, listRuns, type RunFilter } from '../../src/database/tasks/task-runs.ts';
import { MAX_CHECKED_RUNS, MAX_INDEXED_RUNS } from '../../src/domain/common/limits.ts';
import { runSearchOf } from '../../src/domain/tasks/run-search.ts';
import { useInstallation } from '../support/installation.ts';
import { readsOf } from '../support/table-reads.ts';

const RUNS = 60_000;
/** The oldest runs, whose title contains a word that no newer one contains. */
const LEGACY = 15_000;
const PAGE = 50;
const HIGHEST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const BEGUN = Date.parse('2026-01-01T00:00:00Z');
const INTERVAL_MS = 25_000;
/** Runs in the 25 hours that the time of an id can be before the creation of its run. */
const LEAD = (25 * 3_600_000) / INTERVAL_MS;

/** Returns the time when a run was created. The first one has number 1. */
const createdAt = (number: number) => new Date(BEGUN + number * INTERVAL_MS);

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
            'A task' || case when n <= ${LEGACY} then ' legacy' else '' end, case when n <= 3 then 'bug' else 'chore' end,
            json_build_object('order', 'A-' || n), '', at, at,
            case when n % 20000 = 5 then 'paused' else 'completed' end,
            case when n % 20000 = 5 then 'executing' end, case when n % 20000 = 5 then null else at end,
            case when n % 20000 = 5 then '{}'::json end
          from generate_series(1, ${RUNS}) n,
            lateral (select to_timestamp((${BEGUN} + n * ${INTERVAL_MS}::bigint) / 1000.0) as at) t
        `.execute(transaction);
        for (const { definition } of indexes) await sql.raw(definition).execute(transaction);
      });
    await sql`vacuum analyze task_runs`.execute(queryBuilderOf(database));
  });

  const page = (filter: Partial<RunFilter>, q?: string) => {
    const search = q === undefined ? {} : { search: runSearchOf(q) ?? assert.fail() };
    return listRuns(database, { projectIds, limit: PAGE, ...search, ...filter });
  };

  /** Returns the number of rows of `task_runs` that have been read so far. The pool has one connection. */
  const readSoFar = async (): Promise<number> => {
    const { unindexed, indexed } = await readsOf(database, 'task_runs');
    return unindexed + indexed;
  };

  for (const [title, filter, q, count, most = 500] of [
    ['of the beginning of a rare word', {}, 'A-4711', 11],
    ['of an unused word', {}, 'giraffe', 0],
    ['of an unused id', {}, '019c0000-0000-7000-8000-000000000000', 0],
    ['of a rare submitter', { createdBy: ['user:rare'] }, undefined, 6],
    ['of runs that wait for a person', { needsPerson: true }, undefined, 3],
    ['of open states', { states: ['paused'] }, undefined, 3],
    ['of an open state without runs', { states: ['executing'] }, undefined, 0],
    ['of open runs of a rare type', { states: ['paused', 'planning'], taskTypes: ['bug'] }, undefined, 0],
    ['of the newest runs', { createdAfter: createdAt(RUNS - 2) }, undefined, 3, LEAD + 500],
    ['of the oldest runs', { createdBefore: createdAt(11) }, undefined, 10],
    [
      'of a state in a short time long ago',
      { states: ['paused'], createdAfter: createdAt(20_000), createdBefore: createdAt(20_010) },
      undefined,
      1,
    ],
    [
      'of a rare type in a short time long ago',
      { taskTypes: ['bug'], createdAfter: createdAt(3), createdBefore: createdAt(100) },
      undefined,
      1,
    ],
  ] as const satisfies [string, Partial<RunFilter>, string | undefined, number, number?][]) {
    it(`reads few rows for a page ${title}`, async () => {
      const before = await readSoFar();
      const { rows, nextCursor } = await page(filter, q);
      assert.deepEqual([rows.length, nextCursor], [count, null]);
      const read = (await readSoFar()) - before;
      assert.ok(read < most, `${read} rows were read`);
    });
  }

  for (const [title, filter] of [
    ['an ended state', { states: ['escalated'] }],
    ['a rare type', { taskTypes: ['bug'] }],
    ['an error', { errorCodes: ['engine_failed'] }],
    ['the time of the last change', { changedAfter: createdAt(RUNS + 1) }],
  ] as const satisfies [string, Partial<RunFilter>][]) {
    it(`reads a limited number of runs for a page of ${title}, and to count them`, async () => {
      const before = await readSoFar();
      const { rows, nextCursor } = await page(filter);
      assert.equal(rows.length, 0);
      assert.notEqual(nextCursor, null);
      const between = await readSoFar();
      assert.equal(await countRuns(database, { projectIds, ...filter }), 0);
      const read = [between - before, (await readSoFar()) - between];
      assert.ok(Math.max(...read) < MAX_CHECKED_RUNS + 500, `${read.join(' and ')} rows were read`);
    });
  }

  const changed = (filter: Partial<ChangedRunFilter> = {}) =>
    listChangedRuns(database, { projectIds, limit: PAGE, ...filter });

  for (const [title, filter, count] of [
    ['of all runs', {}, PAGE],
    ['of a frequent state', { states: ['completed'] }, PAGE],
    ['of open runs', { states: ['executing', 'paused'] }, 3],
    ['of a short time', { changedAfter: createdAt(RUNS - 2) }, 3],
    ['of a frequent state in a short time', { states: ['completed'], changedAfter: createdAt(RUNS - 2) }, 3],
    ['far from the newest', { after: { id: HIGHEST_ID, at: createdAt(10) } }, 10],
  ] as const satisfies [string, Partial<ChangedRunFilter>, number][]) {
    it(`reads few rows for a page ${title} in the order of the last change`, async () => {
      const before = await readSoFar();
      assert.equal((await changed(filter)).rows.length, count);
      const read = (await readSoFar()) - before;
      assert.ok(read < 1_500, `${read} rows were read`);
    });
  }

  it('reads a limited number of runs for a page of a rare end in the order of the last change', async () => {
    const before = await readSoFar();
    const { rows, next } = await changed({ states: ['escalated'] });
    const read = (await readSoFar()) - before;
    assert.equal(rows.length, 0);
    assert.notEqual(next, null);
    assert.ok(read < MAX_CHECKED_RUNS + 1_000, `${read} rows were read`);
    let pages = 1;
    for (let after = next; after !== null; pages += 1)
      after = (await changed({ states: ['escalated'], after })).next;
    assert.equal(pages, Math.ceil(RUNS / MAX_CHECKED_RUNS));
  });

  it('reads few rows for a page of a frequent state', async () => {
    const before = await readSoFar();
    assert.equal((await page({ states: ['completed'] })).rows.length, PAGE);
    const read = (await readSoFar()) - before;
    assert.ok(read < 500, `${read} rows were read`);
  });

  it('counts only the newest runs', async () => {
    assert.equal(await countRuns(database, { projectIds }), MAX_CHECKED_RUNS);
    assert.equal(await countRuns(database, { projectIds, states: ['completed'] }), MAX_CHECKED_RUNS - 1);
    assert.equal(await countRuns(database, { projectIds, states: ['paused'] }), 3);
  });

  it('finds all runs of a rare type, each once', async () => {
    const found: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const { rows, nextCursor } = await page({ taskTypes: ['bug'], limit: 2, ...(cursor && { cursor }) });
      found.push(...rows.map(({ id }) => id));
      cursor = nextCursor;
    }
    const { rows } = await sql<{ id: string }>`
      select id from task_runs where task_type = 'bug' order by id desc
    `.execute(queryBuilderOf(database));
    assert.equal(rows.length, 3);
    assert.deepEqual(
      found,
      rows.map(({ id }) => id),
    );
  });

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
    const emptyPages = Math.floor((RUNS - LEGACY) / MAX_CHECKED_RUNS);
    assert.deepEqual(counts.slice(0, emptyPages + 1), [...Array(emptyPages).fill(0), 5_000]);
    const { rows } = await sql<{ id: string }>`
      select id from task_runs where title like '%legacy' order by id desc
    `.execute(queryBuilderOf(database));
    assert.deepEqual(
      found,
      rows.map(({ id }) => id),
    );
  });

  it('finds a run that a repeated request created a day after its key was claimed', async () => {
    const { workspace_id } = fresh.installation;
    const [claimed, created] = [createdAt(10), new Date(createdAt(10).getTime() + 24 * 3_600_000)];
    const id = derivedUuid(claimed, 'claim');
    await sql`
      insert into task_runs (id, workspace_id, project_id, created_by, title, task_type, metadata, callback_secret,
        created_at, updated_at, state)
      values (${id}, ${workspace_id}, ${projectIds[0]}, 'key:often', 'Repeated', 'feature', '{}', '',
        ${created.toISOString()}::timestamptz, ${created.toISOString()}::timestamptz, 'initializing')
    `.execute(queryBuilderOf(database));
    const span = { createdAfter: created, createdBefore: new Date(created.getTime() + 1) };
    const { rows } = await page({ ...span, states: ['initializing'] });
    assert.deepEqual(
      rows.map((row) => row.id),
      [id],
    );
  });

  it('reads few rows for a page of open states if another project has many open runs', async () => {
    const other = randomUUID();
    const db = queryBuilderOf(database);
    await sql`insert into projects (id, workspace_id, name, key, created_at)
      select ${other}, id, 'Busy', 'BUSY', now() from workspaces`.execute(db);
    await sql`
      insert into task_runs (id, workspace_id, project_id, created_by, title, task_type, metadata, callback_secret,
        created_at, updated_at, state)
      select gen_random_uuid(), workspace_id, ${other}, created_by, title, task_type, '{}', '', created_at, updated_at,
        'executing'
      from task_runs where state = 'completed' order by id limit 10000
    `.execute(db);
    await sql`vacuum analyze task_runs`.execute(db);
    for (const state of ['paused', 'executing'] as const) {
      const count = state === 'paused' ? 3 : 0;
      const before = await readSoFar();
      assert.equal((await page({ states: [state] })).rows.length, count);
      assert.equal(await countRuns(database, { projectIds, states: [state] }), count);
      const read = (await readSoFar()) - before;
      assert.ok(read < 500, `${read} rows were read`);
    }
  });
});
