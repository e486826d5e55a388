import assert from 'node:assert/strict';
import { recordChange } from '../../src/database/tasks/feed.ts';
import { readView } from '../../src/database/tasks/run-views.ts';
import { findRun, insertRun, type TaskRunRow } from '../../src/database/tasks/task-runs.ts';
import type { RunView } from '../../src/domain/tasks/run-schemas.ts';
import { initialView } from '../../src/domain/tasks/task-run.ts';
import { useInstallation } from '../support/installation.ts';
import { newRunRow } from '../support/run-row.ts';

describe('the current view of a run', () => {
  const fresh = useInstallation();
  const CANCELLED: RunView = {
    ...initialView(),
    state: 'cancelled',
    started_at: '2026-01-01T10:00:00.000Z',
    completed_at: '2026-01-01T10:00:01.000Z',
    duration_ms: 1_000,
    last_seq: 1,
  };
  let row: TaskRunRow;
  beforeEach(async () => {
    const run = newRunRow(fresh.installation, { callback_url: 'https://receiver.example.com/' });
    await insertRun(fresh.database, run);
    row = await rowOf(run.id);
  });

  const rowOf = async (id: string) => {
    const found = await findRun(fresh.database, id);
    assert.ok(found);
    return found;
  };

  async function cancel(): Promise<RunView> {
    const { last_seq: _, ...view } = CANCELLED;
    const entry = { key: 'run.ended', type: 'run.ended' as const, at: '2026-01-01T10:00:01.000Z', data: {} };
    await recordChange(fresh.database, { executionId: row.id, view, entries: [entry] });
    return CANCELLED;
  }

  it('is the one of the workflow while the run is in progress', async () => {
    const view: RunView = { ...initialView(), state: 'planning', last_seq: 1 };
    assert.deepEqual(await readView(fresh.database, row, async () => view), { row, view });
  });

  it('comes with a row of the same time, if the run ends during the read', async () => {
    const { row: later, view } = await readView(fresh.database, row, cancel);
    assert.deepEqual([later.state, view.state], ['cancelled', 'cancelled']);
    assert.equal(later.callback_status, 'none', 'a cancelled run has no callback');
  });

  it('is stored if the query fails because the run ends', async () => {
    const failing = async () => {
      await cancel();
      return null;
    };
    const { row: later, view } = await readView(fresh.database, row, failing);
    assert.deepEqual([later.callback_status, view.state], ['none', 'cancelled']);
  });

  it('is the one of an ended workflow if the database was restored to an earlier time', async () => {
    const { row: later, view } = await readView(fresh.database, row, async () => CANCELLED);
    assert.deepEqual([later.state, view.state], ['initializing', 'cancelled']);
  });
});
