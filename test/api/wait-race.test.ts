import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import type { Dependencies } from '../../src/api/dependencies.ts';
import { createFeedSignal, readWhenChanged } from '../../src/api/tasks/wait.ts';
import { recordChange } from '../../src/database/tasks/feed.ts';
import { viewOfRow } from '../../src/database/tasks/run-views.ts';
import { findRun, findRunStatus } from '../../src/database/tasks/task-runs.ts';
import { initialView } from '../../src/domain/tasks/task-run.ts';
import { quietRun } from '../gateway/quiet-runs.ts';
import { useWorld } from '../support/world.ts';

const AT = '2026-01-01T10:00:00.000Z';

describe('a request that waits for a change', () => {
  const world = useWorld();
  const readRunStatus = (id: string) => findRunStatus(world.database, id);

  it('returns the new state if the run has changed before the subscription', async () => {
    const id = (await world.submit()).json.execution_id;
    await world.reaches(id, 'completed');
    const row = await findRun(world.database, id);
    assert.ok(row);
    // Never notifies, so that only a read without a notification can find the change.
    let subscriptions = 0;
    const notifications = {
      subscribe() {
        subscriptions += 1;
        return () => void (subscriptions -= 1);
      },
    };
    const deps = { database: world.database, notifications, readRunStatus } as unknown as Dependencies;
    const first = { row, view: { ...row, state: 'planning' } } as unknown as Parameters<
      typeof readWhenChanged
    >[1];
    const signal = new AbortController().signal;
    const { view } = await readWhenChanged(deps, first, { seconds: 3_600, signal });
    assert.equal(view.state, 'completed');
    assert.deepEqual([subscriptions, getEventListeners(signal, 'abort')], [0, []]);
  });

  it('returns the next question, which keeps the run paused', async () => {
    const id = await quietRun(world.database, world.installation);
    const ask = async (number: number) => {
      const question = { id: `${number}`, step: 'design', agent: 'architect', text: 'Why?', at: AT };
      const view = {
        ...initialView(),
        state: 'paused' as const,
        paused_from: 'executing' as const,
        question,
      };
      const entry = { key: `asked-${number}`, type: 'state.changed' as const, at: AT, data: {} };
      await recordChange(world.database, { executionId: id, view, entries: [entry] });
      const row = await findRun(world.database, id);
      assert.ok(row);
      return { row, view: viewOfRow(row) };
    };
    const first = await ask(1);
    await ask(2);
    const notifications = { subscribe: () => () => {} };
    const control = { view: async () => null };
    const deps = {
      database: world.database,
      notifications,
      readRunStatus,
      control,
    } as unknown as Dependencies;
    const signal = new AbortController().signal;
    const { view } = await readWhenChanged(deps, first, { seconds: 3_600, signal });
    assert.equal(view.question?.id, '2');
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
