import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { rememberingOpened } from '../../src/security/opened-secrets.ts';
import { eventually } from '../support/eventually.ts';

describe('opened secrets', () => {
  /** Creates a function that opens secrets, and a list of what was opened. */
  function opening(keepMs: number) {
    const opened: string[] = [];
    const open = rememberingOpened((sealed, id) => {
      opened.push(`${sealed} of ${id}`);
      if (sealed === 'damaged') throw new RangeError('no');
      return `open ${sealed}`;
    }, keepMs);
    return { open, opened };
  }

  it('are remembered by their sealed text and their owner', () => {
    const { open, opened } = opening(600_000);
    for (let round = 0; round < 2; round += 1) {
      assert.equal(open('a', 'one'), 'open a');
      assert.equal(open('b', 'one'), 'open b');
      assert.equal(open('a', 'other'), 'open a');
    }
    assert.deepEqual(opened, ['a of one', 'b of one', 'a of other']);
  });

  it('are forgotten after a moment, also those that are needed again and again', async () => {
    const { open, opened } = opening(20);
    for (const times of [2, 3]) {
      await eventually(`it is opened ${times} times`, () => {
        open('a', 'one');
        return opened.length === times;
      });
    }
  });

  it('are opened again if that failed', async () => {
    const { open, opened } = opening(0);
    assert.throws(() => open('damaged', 'one'), RangeError);
    await wait(5);
    assert.throws(() => open('damaged', 'one'), RangeError);
    assert.equal(opened.length, 2);
  });
});
