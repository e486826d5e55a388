import assert from 'node:assert/strict';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import { CHANNEL_PENDING_BYTES } from '../../src/domain/common/limits.ts';
import type { Connection } from '../../src/gateway/connection.ts';
import { RunRoom, type Viewer } from '../../src/gateway/run-room.ts';
import { seededNumbers } from '../support/random.ts';

const RUN = '01890000-0000-7000-8000-000000000000';

function feed(length: number): FeedEvent[] {
  return Array.from({ length }, (_, index) => ({
    seq: index + 1,
    type: 'agent.message' as const,
    execution_id: RUN,
    at: '2026-01-01T00:00:00.000Z',
    data: {},
  }));
}

/** Creates a client that records the event numbers; with `isFull` its buffer is full. */
function client() {
  const received: number[] = [];
  const state = { received, isFull: false };
  const connection: Connection = {
    id: '',
    send: (message) => void received.push(JSON.parse(message.plainBytes.toString()).event.seq),
    pendingBytes: () => (state.isFull ? CHANNEL_PENDING_BYTES + 1 : 0),
    onceDrained: () => {},
    close: () => {},
  };
  return { ...state, state, connection };
}

describe('the viewers of a run', () => {
  it('get every event once and in order, whatever ranges are read in whatever order', () => {
    for (let seed = 1; seed <= 300; seed += 1) {
      const random = seededNumbers(seed);
      const all = feed(200);
      const stalled: Viewer[] = [];
      const room = new RunRoom((viewer) => stalled.push(viewer));
      const clients = Array.from({ length: 8 }, () => ({ ...client(), from: random(50) }));
      const viewers = clients.map(({ connection, from }) => ({ connection, cursor: from, isStalled: false }));
      let written = 60;
      for (let step = 0; step < 400; step += 1) {
        written = Math.min(all.length, written + random(4));
        const viewer = viewers[step % 50 === 0 ? step / 50 : -1];
        if (viewer) room.add(viewer);
        for (const { state } of clients) if (random(20) === 0) state.isFull = !state.isFull;
        for (const waiting of stalled.splice(0)) room.resume(waiting);
        // A read can be outdated, short, or start at a cursor that no viewer has.
        const after = random(written);
        room.deliver(after, all.slice(after, Math.min(written, after + random(60))));
      }
      for (const { state } of clients) state.isFull = false;
      for (const waiting of stalled.splice(0)) room.resume(waiting);
      while (room.cursors.some((cursor) => cursor < all.length)) {
        for (const cursor of room.cursors) room.deliver(cursor, all.slice(cursor, cursor + 7));
      }
      for (const [index, { received, from }] of clients.entries()) {
        const expected = all.slice(from).map(({ seq }) => seq);
        assert.deepEqual(received, expected, `viewer ${index}, seed ${seed}`);
      }
    }
  });

  it('share a cursor once they have the same events', () => {
    const room = new RunRoom(() => {});
    for (const cursor of [0, 3, 5]) room.add({ connection: client().connection, cursor, isStalled: false });
    room.deliver(0, feed(5));
    assert.deepEqual(room.cursors, [5]);
  });

  it('stay at their cursor if they do not read, without delaying others', () => {
    const slow = client();
    const quick = client();
    const stalled: Viewer[] = [];
    const room = new RunRoom((viewer) => stalled.push(viewer));
    slow.state.isFull = true;
    for (const { connection } of [slow, quick]) room.add({ connection, cursor: 0, isStalled: false });
    room.deliver(0, feed(5));
    assert.deepEqual([slow.received, quick.received], [[1], [1, 2, 3, 4, 5]]);
    assert.deepEqual(room.cursors, [5]);
    assert.equal(stalled[0]?.cursor, 1);
  });

  it('leave an empty room', () => {
    const room = new RunRoom(() => {});
    const viewer = { connection: client().connection, cursor: 0, isStalled: false };
    room.add(viewer);
    room.deliver(0, feed(3));
    room.remove(viewer);
    assert.ok(room.isEmpty);
    assert.deepEqual(room.cursors, []);
  });

  it('are counted, and their cursors are listed with the furthest first', () => {
    const room = new RunRoom(() => {});
    for (const cursor of [3, 0, 5, 3])
      room.add({ connection: client().connection, cursor, isStalled: false });
    assert.deepEqual([room.isEmpty, room.cursors], [false, [5, 3, 0]]);
    assert.equal(room.deliver(0, feed(5)), 5 + 2 + 2, 'one viewer lacks five events, two lack two');
    assert.equal(room.deliver(0, feed(5)), 0);
  });

  it('stay if another viewer at the same cursor leaves', () => {
    const room = new RunRoom(() => {});
    const [one, other] = [client(), client()];
    const viewers = [one, other].map(({ connection }) => ({ connection, cursor: 0, isStalled: false }));
    for (const viewer of viewers) room.add(viewer);
    for (const viewer of viewers.slice(0, 1)) room.remove(viewer);
    room.deliver(0, feed(2));
    assert.deepEqual([one.received, other.received], [[], [1, 2]]);
  });

  it('can leave while they do not read', () => {
    const slow = client();
    slow.state.isFull = true;
    const room = new RunRoom(() => {});
    const viewer = { connection: slow.connection, cursor: 0, isStalled: false };
    room.add(viewer);
    room.deliver(0, feed(2));
    assert.equal(viewer.isStalled, true);
    room.remove(viewer);
    assert.ok(room.isEmpty);
  });

  it('read as long as their buffer is within its limit', () => {
    const { connection, received } = client();
    const atLimit = { ...connection, pendingBytes: () => CHANNEL_PENDING_BYTES };
    const room = new RunRoom(() => assert.fail('it is stalled'));
    room.add({ connection: atLimit, cursor: 0, isStalled: false });
    room.deliver(0, feed(3));
    assert.deepEqual(received, [1, 2, 3]);
  });
});
