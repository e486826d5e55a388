import assert from 'node:assert/strict';
import { createUsageRecorder } from '../../src/api/http/usage-recorder.ts';

const START = Date.parse('2026-01-31T12:00:00.000Z');

describe('the last use of a credential', () => {
  function setUp() {
    const state = { now: START, written: [] as [string, number][], errors: [] as unknown[], isDown: false };
    const used = createUsageRecorder(
      async (id, at) => {
        if (state.isDown) throw new Error('the database is unavailable');
        state.written.push([id, at.getTime() - START]);
      },
      () => new Date(state.now),
      (error) => void state.errors.push(error),
    );
    return { state, used };
  }

  it('is recorded at most once a minute for each credential, and again after that', () => {
    const { state, used } = setUp();
    used('a');
    state.now += 59_999;
    used('a');
    used('b');
    assert.deepEqual(state.written, [
      ['a', 0],
      ['b', 59_999],
    ]);
    state.now += 1;
    used('a');
    used('b');
    state.now += 59_999;
    used('a');
    state.now += 1;
    used('a');
    assert.deepEqual(state.written.slice(2), [
      ['a', 60_000],
      ['a', 120_000],
    ]);
  });

  it('is recorded again after a failure', async () => {
    const { state, used } = setUp();
    state.isDown = true;
    used('a');
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(state.errors.length, 1);
    state.isDown = false;
    state.now += 60_000;
    used('a');
    assert.deepEqual(state.written, [['a', 60_000]]);
  });
});
