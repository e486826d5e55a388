import assert from 'node:assert/strict';
import { createStall } from '../../faults/stall.ts';

describe('a stall of the work that should end', () => {
  it('begins when the least number is older than the limit, however long the whole takes', () => {
    let now = 0;
    const stall = createStall(100, () => now);
    now = 1_000;
    assert.equal(stall.isOver(), false, 'nothing was reported');
    stall.report(3);
    now = 1_100;
    stall.report(2);
    now = 1_200;
    stall.report(2);
    stall.report(4);
    assert.equal(stall.isOver(), false);
    now = 1_201;
    assert.equal(stall.isOver(), true);
    stall.report(1);
    assert.equal(stall.isOver(), false);
  });
});
