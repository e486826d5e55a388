import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { forEachRow, RowsFailed } from '../../src/reconciler/rows.ts';

describe('the rows of a part of the reconciler', () => {
  const rows = Array.from({ length: 10 }, (_, index) => index + 1);
  let now = 0;
  before(() => void mock.method(performance, 'now', () => now));
  after(() => mock.restoreAll());

  it('are all processed although some fail, and the first failure is reported', async () => {
    const seen: number[] = [];
    const failed = forEachRow(rows, String, async (row) => {
      seen.push(row);
      if (row === 3 || row === 7) throw new Error(`no ${row}`);
    });
    await assert.rejects(failed, (error) => {
      assert.ok(error instanceof RowsFailed);
      assert.equal(error.message, '3 and 1 more could not be reconciled');
      assert.deepEqual(error.cause, new Error('no 3'));
      return true;
    });
    assert.deepEqual(seen, rows);
  });

  it('wait for the next turn once failures have taken more than 15 s', async () => {
    const seen: number[] = [];
    const failed = forEachRow(rows, String, async (row) => {
      seen.push(row);
      now += row % 2 === 0 ? 60_000 : 5_001;
      if (row % 2 === 1) throw new Error('no response');
    });
    await assert.rejects(failed, /^RowsFailed: 1 and 2 more/);
    assert.deepEqual(seen, [1, 2, 3, 4, 5]);
  });

  it('are processed a few at once', async () => {
    let atOnce = 0;
    let most = 0;
    const work = async () => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await Promise.resolve();
      atOnce -= 1;
    };
    await forEachRow(rows, String, work, 4);
    assert.equal(most, 4);
    most = 0;
    await forEachRow(rows, String, work);
    assert.equal(most, 1);
  });
});
