import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { FEW_EVENTS, type GroupOfWorkspaces } from '../../src/domain/webhooks/dispatch-batches.ts';
import { createDispatchQueue } from '../../src/domain/webhooks/dispatch-queue.ts';
import { holds } from './property.ts';

const BUSY = ['a', 'b', 'c'];
/** Sends one event at a time, at most one in 30 ms. */
const QUIET = 'quiet';

type Arrival = { afterMs: number; workspaces: readonly string[]; events: number };
type Dispatched = { group: GroupOfWorkspaces; waitedMs: number; together: readonly GroupOfWorkspaces[] };

/** Lets groups arrive, and dispatches them as soon as the queue allows it. Starts take no time. */
function dispatchAll(arrivals: readonly Arrival[]): {
  groups: GroupOfWorkspaces[];
  dispatched: Dispatched[];
} {
  const queue = createDispatchQueue();
  const arrivedAt = new Map<GroupOfWorkspaces, number>();
  const dispatched: Dispatched[] = [];
  let now = 0;
  const dispatchUntil = (end: number) => {
    for (;;) {
      const taken = queue.take(now);
      if (typeof taken === 'object' && taken !== null) {
        for (const group of taken)
          dispatched.push({ group, waitedMs: now - (arrivedAt.get(group) ?? 0), together: taken });
      } else if (taken === null || taken > end) break;
      else {
        assert.ok(taken > now, 'a time to wait for is in the future');
        now = taken;
      }
    }
    now = end;
  };
  for (const [index, { afterMs, workspaces, events }] of arrivals.entries()) {
    dispatchUntil(now + afterMs);
    const group = { id: String(index), events: events * workspaces.length, bytes: 0, workspaces };
    arrivedAt.set(group, now);
    queue.add(group);
  }
  dispatchUntil(now + 10_000);
  assert.equal(queue.size, 0);
  return { groups: [...arrivedAt.keys()], dispatched };
}

/** Groups of one workspace with several events, or of several with one each (`groupRequests`). */
const busy: fc.Arbitrary<Arrival> = fc
  .record({
    afterMs: fc.nat(100),
    workspaces: fc.subarray(BUSY, { minLength: 1 }),
    events: fc.integer({ min: 1, max: 12 }),
  })
  .map((one) => ({ ...one, events: one.workspaces.length > 1 ? 1 : one.events }));
const quiet = fc
  .integer({ min: 30, max: 100 })
  .map((afterMs): Arrival => ({ afterMs, workspaces: [QUIET], events: 1 }));
const arrivals = fc.array(fc.oneof({ weight: 3, arbitrary: busy }, { weight: 1, arbitrary: quiet }), {
  maxLength: 40,
});

describe('the queue of stored groups of events, for random arrivals', () => {
  it('dispatches every group once, those of a workspace in their order, within half a second', () => {
    holds([arrivals], (given) => {
      const { groups, dispatched } = dispatchAll(given);
      const order = dispatched.map(({ group }) => group);
      assert.deepEqual(new Set(order), new Set(groups));
      assert.equal(order.length, groups.length);
      for (const id of [...BUSY, QUIET]) {
        const of = (all: readonly GroupOfWorkspaces[]) =>
          all.filter(({ workspaces }) => workspaces.includes(id));
        assert.deepEqual(of(order), of(groups));
      }
      for (const { waitedMs } of dispatched) assert.ok(waitedMs <= 500, `waited ${waitedMs} ms`);
    });
  });

  it('lets events of a quiet workspace wait at most 120 ms, and never dispatches them with a burst', () => {
    holds([arrivals], (given) => {
      for (const { group, waitedMs, together } of dispatchAll(given).dispatched) {
        if (!group.workspaces.includes(QUIET)) continue;
        assert.ok(waitedMs <= 120, `waited ${waitedMs} ms`);
        for (const id of BUSY) {
          const events = together
            .filter(({ workspaces }) => workspaces.includes(id))
            .reduce((sum, one) => sum + one.events / one.workspaces.length, 0);
          assert.ok(events <= FEW_EVENTS, `with ${events} events of ${id}`);
        }
      }
    });
  });
});
