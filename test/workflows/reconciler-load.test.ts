import assert from 'node:assert/strict';
import { pino } from 'pino';
import type { Database } from '../../src/database/database.ts';
import type { RunInspector } from '../../src/reconciler/run-inspector.ts';
import {
  recordEnds,
  recordPauses,
  repairPauses,
  signalPauses,
  sweep,
  type Dependencies,
} from '../../src/reconciler/reconcile.ts';
import { withOneList } from '../../src/reconciler/reconciler-loop.ts';
import type { TaskControl } from '../../src/temporal/task-control.ts';
import { useInstallation } from '../support/installation.ts';

const RUNS = 5_000;

/** How often the reconciler asks Temporal and the database does not depend on the number of runs. */
describe('the reconciler with 5,000 runs', () => {
  const fresh = useInstallation();
  let database: Database;
  before(() => ({ database } = fresh));

  /** Stores runs that have begun, and returns their ids. */
  async function store(state: 'executing' | 'paused', count = RUNS): Promise<string[]> {
    const { workspace_id, project_id } = fresh.installation;
    const isPaused = state === 'paused';
    const rows = await database.em.fork().execute<{ id: string }[]>(
      `insert into task_runs (id, workspace_id, project_id, created_by, title, task_type, callback_secret, created_at,
                              updated_at, state, last_seq, view_seq, engine_paused_at, engine_pause_signalled,
                              paused_from, paused_at, paused_by)
       select gen_random_uuid(), ?, ?, 'key:test', 'one of many', 'chore', '', now() - interval '1 hour', now(), ?, 1, 1,
              case when ? then now() end, ?, case when ? then 'executing' end, case when ? then now() end,
              case when ? then 'temporal: ada' end
       from generate_series(1, ?) returning id`,
      [workspace_id, project_id, state, ...Array.from({ length: 5 }, () => isPaused), count],
    );
    return rows.map(({ id }) => id);
  }

  /** Dependencies that count requests to Temporal, and statements. */
  function counted(lists: Partial<Record<'pausedRuns' | 'openRuns' | 'runsClosedFromOutside', string[]>>) {
    const asked: string[] = [];
    const list = (name: keyof typeof lists) => async () => {
      asked.push(name);
      return lists[name] ?? [];
    };
    const engine: Partial<RunInspector> = {
      pausedRuns: list('pausedRuns'),
      openRuns: list('openRuns'),
      runsClosedFromOutside: list('runsClosedFromOutside'),
      async stateOf(id) {
        asked.push(`stateOf ${id}`);
        return { kind: 'running' };
      },
    };
    const dependencies: Dependencies = {
      runsKeptDays: 180,
      database,
      engine: engine as RunInspector,
      control: {} as TaskControl,
      clock: () => new Date(),
      log: pino({ level: 'silent' }),
    };
    return { asked, dependencies };
  }

  /** Counts the statements that PostgreSQL receives during the work. */
  async function statementsDuring(work: () => Promise<void>): Promise<number> {
    const pool = await database.em.getConnection().getNativeClient();
    const connect = pool.connect.bind(pool);
    let statements = 0;
    const clients = new Set<object>();
    pool.connect = async () => {
      const client = await connect();
      if (clients.has(client)) return client;
      clients.add(client);
      const query = client.query.bind(client);
      client.query = ((...args: Parameters<typeof query>) => {
        statements += 1;
        return query(...args);
      }) as typeof query;
      return client;
    };
    try {
      await work();
    } finally {
      pool.connect = connect;
    }
    return statements;
  }

  it('asks for two lists in a turn, and reads its rows with a few statements', async () => {
    const ids = await store('paused');
    const { asked, dependencies: given } = counted({ pausedRuns: ids });
    const dependencies = withOneList(given);
    const statements = await statementsDuring(async () => {
      for (const part of [recordPauses, signalPauses, repairPauses, recordEnds]) await part(dependencies);
    });
    assert.deepEqual(asked, ['pausedRuns', 'runsClosedFromOutside']);
    assert.ok(statements > 0 && statements <= 8, `${statements} statements`);
  });

  it('sweeps 5,001 with one list and a statement for 5,000 runs, and asks only about runs that are not in it', async () => {
    const ids = [...(await store('executing')), ...(await store('executing', 1))];
    // The second statement reads the last one.
    const [gone = '', ...listed] = ids.toSorted().toReversed();
    const { asked, dependencies } = counted({ openRuns: listed });
    await database.em.fork().execute(`delete from task_runs where state = 'paused'`);
    const statements = await statementsDuring(() => sweep(dependencies));
    assert.deepEqual(asked, ['openRuns', `stateOf ${gone}`]);
    assert.ok(statements > 0 && statements <= 8, `${statements} statements`);
  });
});
