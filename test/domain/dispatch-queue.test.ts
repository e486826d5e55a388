import assert from 'node:assert/strict';
import { FEW_EVENTS, MAX_DISPATCH_EVENTS } from '../../src/domain/webhooks/dispatch-batches.ts';
import { createDispatchQueue } from '../../src/domain/webhooks/dispatch-queue.ts';

const START = 1_000_000;

/** Creates a queue, and functions that add groups and dispatch some milliseconds after the start. Groups are named by their order. */
function queueOfGroups() {
  const queue = createDispatchQueue();
  let count = 0;
  return {
    queue,
    add(events: number, ...workspaces: string[]): void {
      queue.add({ id: String((count += 1)), events, bytes: 0, workspaces });
    },
    /** Returns the names of the dispatched groups, or after how many milliseconds the next dispatch may begin. */
    at(ms: number): string | number | null {
      const taken = queue.take(START + ms);
      if (taken === null) return null;
      return typeof taken === 'number' ? taken - START : taken.map(({ id }) => id).join(' ');
    },
  };
}

describe('the queue of stored groups of events', () => {
  it('dispatches the first group immediately, and after a pause all that were stored in it', () => {
    const { queue, add, at } = queueOfGroups();
    assert.equal(at(0), null);
    add(1, 'own');
    assert.equal(at(0), '1');
    add(2, 'own');
    add(1, 'other');
    assert.equal(at(1), 12);
    assert.equal(at(12), '2 3');
    assert.equal(queue.size, 0);
    assert.equal(at(100), null);
  });

  it('dispatches the burst of one workspace every 300 ms', () => {
    const { add, at } = queueOfGroups();
    add(200, 'own');
    assert.equal(at(0), '1');
    add(1, 'own');
    assert.equal(at(10), 120);
    add(200, 'own');
    assert.equal(at(119), 300);
    assert.equal(at(299), 300);
    assert.equal(at(300), '2 3');
  });

  it('dispatches few events that follow a burst after 120 ms, and the next ones as those that arrive slowly', () => {
    const { add, at } = queueOfGroups();
    add(200, 'own');
    assert.equal(at(0), '1');
    add(1, 'own');
    assert.equal(at(119), 120);
    add(1, 'quiet');
    assert.equal(at(120), '2 3', 'one dispatch for both workspaces');
    add(1, 'own');
    assert.equal(at(121), 144);
  });

  it('lets no event of another workspace wait for a burst, and dispatches both separately', () => {
    const { add, at } = queueOfGroups();
    add(200, 'burst');
    assert.equal(at(0), '1');
    add(200, 'burst');
    add(1, 'quiet');
    assert.equal(at(1), '3');
    add(1, 'quiet');
    assert.equal(at(2), 13);
    assert.equal(at(13), '4');
    assert.equal(at(14), 300);
    assert.equal(at(300), '2');
  });

  it('regards more than 10 waiting events of a workspace as a burst', () => {
    assert.equal(FEW_EVENTS, 10);
    const dispatchesOf = (events: number) => {
      const { add, at } = queueOfGroups();
      add(1, 'own');
      add(events - 1, 'own');
      add(1, 'quiet');
      return [at(0), at(0)];
    };
    assert.equal(FEW_EVENTS, 10);
    assert.deepEqual(dispatchesOf(10), ['1 2 3', null]);
    assert.deepEqual(dispatchesOf(11), ['3', '1 2']);
  });

  it('divides the events of a shared group among its workspaces', () => {
    const { add, at } = queueOfGroups();
    add(6, 'a', 'b', 'c', 'd', 'e', 'f');
    add(1, 'quiet');
    assert.equal(at(0), '1 2');
  });

  it('takes turns: each lane waits for at most one dispatch of the other', () => {
    const { add, at } = queueOfGroups();
    const taken: (string | number | null)[] = [];
    for (let round = 0; round < 3; round += 1) {
      // So slow that both lanes always have groups whose pause is over.
      add(20, 'burst');
      add(1, 'quiet');
      taken.push(at(round * 2_000), at(round * 2_000 + 1_000));
    }
    assert.deepEqual(taken, ['2', '1', '4', '3', '6', '5']);
    add(20, 'burst');
    add(1, 'quiet');
    assert.equal(at(10_000), '8');
    add(1, 'quiet');
    assert.equal(at(11_000), '7', 'its pause was over before');
  });

  it('dispatches bursts of several workspaces together, every 120 ms', () => {
    const { add, at } = queueOfGroups();
    add(200, 'one');
    add(100, 'two');
    assert.equal(at(0), '1 2');
    add(200, 'two');
    assert.equal(at(1), 120);
    assert.equal(at(120), '3');
  });

  it('dispatches few events of very many workspaces together', () => {
    const { add, at } = queueOfGroups();
    for (let index = 0; index < 100; index += 1) add(1, String(index));
    assert.equal(at(0), Array.from({ length: 100 }, (_, index) => index + 1).join(' '));
    add(1, 'own');
    assert.equal(at(1), 120);
  });

  it('lets no event overtake an earlier one of its workspace, also in groups of several workspaces', () => {
    const { add, at } = queueOfGroups();
    add(20, 'burst');
    add(2, 'burst', 'shared');
    add(1, 'shared');
    add(2, 'shared', 'last');
    add(1, 'last');
    add(1, 'quiet');
    assert.equal(at(0), '6');
    assert.equal(at(0), '1 2 3 4 5');
  });

  it('lets no group overtake an earlier one whose lane has a pause', () => {
    const { add, at } = queueOfGroups();
    add(1, 'quiet');
    assert.equal(at(0), '1');
    add(1, 'shared');
    add(2, 'burst', 'shared');
    add(20, 'burst');
    assert.equal(at(0), '2 3 4');
  });

  it('limits a dispatch, and keeps the rest', () => {
    const { queue, add, at } = queueOfGroups();
    for (let index = 0; index < 3; index += 1) add(MAX_DISPATCH_EVENTS / 2, 'own');
    assert.equal(at(0), '1 2');
    assert.equal(queue.size, 1);
    assert.equal(at(1), 300);
    assert.equal(at(300), '3');
  });

  it('forgets what waits', () => {
    const { queue, add, at } = queueOfGroups();
    add(1, 'own');
    queue.clear();
    assert.deepEqual([queue.size, at(0)], [0, null]);
  });
});
