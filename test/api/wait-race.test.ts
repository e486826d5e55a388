import assert from 'node:assert/strict';
import type { Dependencies } from '../../src/api/dependencies.ts';
import { createFeedSignal, readWhenChanged } from '../../src/api/tasks/wait.ts';
import { findRun } from '../../src/database/tasks/task-runs.ts';
import { useWorld } from '../support/world.ts';

describe('a request that waits for a change', () => {
  const world = useWorld();

  it('returns the new state if the run has changed before the subscription', async () => {
    const id = (await world.submit()).json.execution_id;
    await world.reaches(id, 'completed');
    const row = await findRun(world.database, id);
    assert.ok(row);
    // Never notifies, so that only a read without a notification can find the change.
    const notifications = { subscribe: () => () => {} };
    const deps = { database: world.database, notifications } as unknown as Dependencies;
    const first = { row, view: { ...row, state: 'planning' } } as unknown as Parameters<
      typeof readWhenChanged
    >[1];
    const signal = new AbortController().signal;
    const { view } = await readWhenChanged(deps, first, { seconds: 3_600, signal });
    assert.equal(view.state, 'completed');
  });

  it('does not miss a notification that arrives while it reads', async () => {
    let notify = () => {};
    const notifications = {
      subscribe: (_: string, __: string, listener: () => void) => ((notify = listener), () => {}),
    };
    const feedSignal = createFeedSignal(
      { notifications } as unknown as Dependencies,
      'any',
      new AbortController().signal,
    );
    notify();
    await feedSignal.wait(3_600_000);
    feedSignal.close();
  });
});
