import assert from 'node:assert/strict';
import { removeExpired, type Dependencies } from '../../src/reconciler/reconcile.ts';
import { useInstallation } from '../support/installation.ts';

describe('the removal of runs past their retention', () => {
  const fresh = useInstallation();
  const execute = <Row>(text: string, values: unknown[] = []) =>
    fresh.database.em.fork().execute<Row[]>(text, values);

  async function store(count: number, endedBefore: string): Promise<void> {
    const { workspace_id, project_id } = fresh.installation;
    await execute(
      `insert into task_runs (id, workspace_id, project_id, created_by, title, task_type, callback_secret, created_at,
                              updated_at, state, started_at, completed_at)
       select gen_random_uuid(), ?, ?, 'key:test', 'an old one', 'chore', '', now(), now(), 'completed', now(),
              now() - ?::interval
       from generate_series(1, ?)`,
      [workspace_id, project_id, endedBefore, count],
    );
  }

  const left = async () =>
    (await execute<{ count: number }>('select count(*)::integer as count from task_runs'))[0]?.count;

  /** Removes runs in one turn, in which each reading of the clock takes `ms` milliseconds. */
  async function turn(ms: number): Promise<void> {
    let passed = 0;
    const clock = () => new Date(Date.now() + (passed += ms));
    await removeExpired({ database: fresh.database, clock, runsKeptDays: 30 } as unknown as Dependencies);
  }

  it('continues in the next turn if it takes long, and then other parts of the reconciler have their turn', async () => {
    await store(250, '31 days');
    await store(5, '29 days');
    await turn(11_000);
    assert.equal(await left(), 155);
    await turn(0);
    assert.equal(await left(), 5);
  });
});
