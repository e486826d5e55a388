import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { pino } from 'pino';
import type { DeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import { startUnstartedGroups } from '../../src/reconciler/forgotten-deliveries.ts';
import { forEachRow, RowsFailed } from '../../src/reconciler/rows.ts';
import type { DeliveryControl } from '../../src/temporal/delivery-control.ts';

describe('groups that were stored but not started', () => {
  /** Starts so many groups in one turn. Starts that include one of `failing` fail. Returns the number of groups of each start. */
  async function start(count: number, failing: readonly string[] = []) {
    const left = new Set(Array.from({ length: count }, (_, index) => `g${index}`));
    const starts: number[] = [];
    const store = {
      listUnstartedGroups: async (_since: unknown, limit: number) =>
        [...left].slice(0, limit).map((id) => ({ id, events: 1, bytes: 1 })),
      markGroupsStarted: async (ids: readonly string[]) => ids.forEach((id) => left.delete(id)),
    } as Partial<DeliveryStore> as DeliveryStore;
    const deliveryControl = {
      async dispatch(ids: readonly string[]): Promise<boolean> {
        starts.push(ids.length);
        if (ids.some((id) => failing.includes(id))) throw new Error('this group cannot start');
        return false;
      },
    } as Partial<DeliveryControl> as DeliveryControl;
    const log = pino({ level: 'silent' });
    const error = await startUnstartedGroups({ store, deliveryControl, clock: () => new Date(), log }).then(
      () => null,
      (reason: unknown) => reason,
    );
    return { left: [...left], starts, error };
  }

  it('are all started in one turn, if there are more than one statement reads', async () => {
    const { left, starts, error } = await start(1_203);
    assert.deepEqual([left, starts, error], [[], [500, 500, 203], null]);
  });

  it('are started one by one if they cannot be started together', async () => {
    const { left, starts, error } = await start(4, ['g1']);
    assert.deepEqual([left, starts], [['g1'], [4, 1, 1, 1, 1]]);
    assert.ok(error instanceof RowsFailed);
  });
});

describe('the rows of a part of the reconciler', () => {
  it('are all done, although some fail, and the first failure is reported', async () => {
    const done: number[] = [];
    const work = async (row: number) => {
      done.push(row);
      if (row % 2 === 0) throw new Error(`row ${row} failed`);
    };
    await assert.rejects(forEachRow([1, 2, 3, 4], String, work), (error: unknown) => {
      assert.ok(error instanceof RowsFailed);
      assert.equal(error.message, '2 and 1 more could not be reconciled');
      assert.match(String(error.cause), /row 2 failed/);
      return true;
    });
    assert.deepEqual(done, [1, 2, 3, 4]);
  });

  it('are left to the next turn after failures of 15 s in total', async () => {
    let now = 0;
    mock.method(performance, 'now', () => now);
    const done: number[] = [];
    const work = async (row: number) => {
      done.push(row);
      now += 5_000;
      if (row !== 2) throw new Error('no response');
    };
    const working = forEachRow([1, 2, 3, 4, 5, 6, 7], String, work).finally(() => mock.restoreAll());
    await assert.rejects(working, RowsFailed);
    assert.deepEqual(done, [1, 2, 3, 4, 5], 'the time of rows that succeed does not count');
  });

  it('are done by several at once', async () => {
    let [atOnce, most] = [0, 0];
    const work = async () => {
      most = Math.max(most, (atOnce += 1));
      await new Promise(setImmediate);
      atOnce -= 1;
    };
    await forEachRow([1, 2, 3, 4, 5], String, work, 2);
    assert.equal(most, 2);
  });
});
