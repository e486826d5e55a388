import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { queryBuilderOf } from '../../src/database/database.ts';
import { changeOf, listChangedRuns, type ChangedRunFilter } from '../../src/database/tasks/changed-runs.ts';
import { insertRun, type TaskRunRow } from '../../src/database/tasks/task-runs.ts';
import type { TaskState } from '../../src/domain/tasks/task-states.ts';
import { useInstallation } from '../support/installation.ts';
import { newRunRow } from '../support/run-row.ts';
import { storedRows } from '../support/stored-rows.ts';

const START = Date.parse('2026-01-01T00:00:00Z');
const at = (minute: number) => new Date(START + minute * 60_000);

describe('the list of runs in the order of their last change', () => {
  const fresh = useInstallation();
  /** The ids in the order of their creation. */
  const ids: string[] = [];

  before(async () => {
    // Neither the creation nor the ids are in the order of the changes. Two runs changed at the same time.
    const runs: [TaskState, number][] = [
      ['executing', 50],
      ['completed', 40],
      ['paused', 60],
      ['failed', 50],
      ['executing', 10],
      ['completed', 20],
    ];
    for (const [state, minute] of runs) ids.push(await put(state, minute));
  });

  async function put(state: TaskState, minute: number): Promise<string> {
    const run = newRunRow(fresh.installation, { created_at: at(0) });
    await insertRun(fresh.database, run);
    const isOpen = state === 'executing' || state === 'paused';
    const time = at(minute).toISOString();
    // An ended run changed when it ended, not when this was recorded.
    await sql`
      update task_runs set state = ${state}, paused_from = ${state === 'paused' ? 'executing' : null},
        updated_at = ${isOpen ? time : at(1_000).toISOString()}::timestamptz,
        completed_at = ${isOpen ? null : time}::timestamptz
      where id = ${run.id}::uuid
    `.execute(queryBuilderOf(fresh.database));
    return run.id;
  }

  const list = (filter: Partial<ChangedRunFilter> = {}) =>
    listChangedRuns(fresh.database, { projectIds: [fresh.installation.project_id], limit: 50, ...filter });
  const numbers = (rows: readonly TaskRunRow[]) => rows.map(({ id }) => ids.indexOf(id));

  it('contains open and ended runs, the last changed first', async () => {
    const { rows, next } = await list();
    assert.deepEqual(numbers(rows), [2, 3, 0, 1, 5, 4]);
    assert.equal(next, null);
  });

  for (const [title, filter, expected] of [
    ['open states', { states: ['planning', 'executing'] }, [0, 4]],
    ['an ended state', { states: ['completed'] }, [1, 5]],
    ['no state', { states: [] }, []],
    ['runs without a question', { states: ['executing', 'paused'], asking: false }, [2, 0, 4]],
    ['changes since a time', { changedAfter: at(40) }, [2, 3, 0, 1]],
    ['ends since a time', { states: ['completed', 'failed'], changedAfter: at(30) }, [3, 1]],
    ['no project', { projectIds: [] }, []],
  ] as const satisfies [string, Partial<ChangedRunFilter>, number[]][]) {
    it(`contains only the runs of ${title}`, async () => {
      assert.deepEqual(numbers((await list(filter)).rows), expected);
    });
  }

  it('contains only runs of the project with the given metadata, or with an open question', async () => {
    const rows = storedRows(fresh);
    const { workspaceId, projectId } = await rows.workspace();
    const metadata = '{"issue":5}';
    const foreign = { workspace_id: workspaceId, project_id: projectId, metadata, question: '{}' };
    const other = await rows.run({ ...foreign, state: 'executing', updated_at: at(5) });
    const set = (values: string) => rows.execute(`update task_runs set ${values}`);
    await set(
      `metadata = case when id in ('${ids[5]}', '${ids[0]}') then '${metadata}'::json else metadata end`,
    );
    await set(`question = case when id in ('${ids[4]}', '${ids[1]}') then '{}'::json else question end`);
    try {
      const issue = { metadata: { issue: '5' } };
      assert.deepEqual(numbers((await list(issue)).rows), [0, 5]);
      assert.deepEqual(numbers((await list({ ...issue, changedAfter: at(20) })).rows), [0, 5]);
      assert.deepEqual(numbers((await list({ ...issue, changedAfter: at(20.01) })).rows), [0]);
      assert.deepEqual(numbers((await list({ changedAfter: at(50) })).rows), [2, 3, 0]);
      assert.deepEqual(numbers((await list({ asking: true })).rows), [1, 4]);
      const { rows: found } = await list({ projectIds: [projectId] });
      assert.deepEqual(
        found.map(({ id }) => id),
        [other],
      );
    } finally {
      await set(`metadata = '{}', question = null`);
    }
  });

  it('has each run once on its pages, whatever their size', async () => {
    for (const states of [undefined, ['completed', 'failed'], ['executing', 'paused']] as const) {
      const filter = states ? { states } : {};
      const whole = numbers((await list(filter)).rows);
      for (let limit = 1; limit <= ids.length; limit += 1) {
        const read: number[] = [];
        for (let page: Partial<ChangedRunFilter> | null = {}; page !== null; ) {
          const { rows, next } = await list({ ...filter, limit, ...page });
          if (next !== null) assert.deepEqual([rows.length, next], [limit, changeOf(rows[limit - 1]!)]);
          read.push(...numbers(rows));
          page = next && { after: next };
        }
        assert.deepEqual(read, whole, `pages of ${limit}`);
      }
    }
  });
});
