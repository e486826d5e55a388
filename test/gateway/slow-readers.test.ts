import assert from 'node:assert/strict';
import type { WebSocket } from 'ws';
import { useWorld } from '../support/world.ts';
import { connectSocketIo } from '../support/channel-clients.ts';
import { openPlain, type PlainChannel } from '../support/plain-channel.ts';
import { eventually, WAIT_TIMEOUT_MS } from '../support/eventually.ts';
import { startOwnChannel } from './own-channel.ts';
import { feedOf, quietRun, writeEvents } from './quiet-runs.ts';

/** 14 MB, more than the buffers of a connection hold. */
const EVENTS = { count: 700, bytes: 20_000 };
const STALL_MS = 300;

describe('a viewer that does not read', () => {
  const world = useWorld();
  let token: string;
  before(async () => {
    token = (await world.send('POST', '/api/v1/tokens')).json.token;
  });
  const newRun = () => quietRun(world.database, world.installation);

  describe('for longer than it may', () => {
    let channel: Awaited<ReturnType<typeof startOwnChannel>>;
    before(async () => {
      channel = await startOwnChannel(world, { stallMs: STALL_MS });
    });
    after(() => channel.close());

    it('is dropped as a slow reader, and comes back with what it has', async () => {
      const id = await newRun();
      const slow = await viewerOf(channel.url, id);
      const quick = await viewerOf(channel.url, id);
      slow.socket.pause();
      await writeEvents(world.database, id, EVENTS);
      await eventually('it is dropped', () => channel.numbers().dropped.slow_reader === 1);
      await eventually('it is gone', () => channel.numbers().connections === 1);
      slow.socket.resume();
      await slow.closed;
      const seen = slow.eventsOf(id);
      const feed = await feedOf(world.database, id);
      assert.deepEqual(seen, feed.slice(0, seen.length), 'it has had the beginning');
      const again = await openPlain(channel.url, token);
      await again.ask({ type: 'join', room: `workflow:${id}`, after: seen.length });
      await eventually('the rest', () => again.eventsOf(id).length >= feed.length - seen.length);
      assert.deepEqual([...seen, ...again.eventsOf(id)], feed);
      await eventually('the quick one has all', () => quick.eventsOf(id).length >= feed.length);
      assert.deepEqual(quick.eventsOf(id), feed);
      assert.equal(channel.numbers().dropped.slow_reader, 1, 'and nobody else is dropped');
      await Promise.all([again.close(), quick.close()]);
    });

    it('is told so when it reads just in time', async () => {
      const id = await newRun();
      const patient = await startOwnChannel(world, { stallMs: STALL_MS, goodbyeMs: 3_600_000 });
      try {
        const slow = await viewerOf(patient.url, id);
        slow.socket.pause();
        await writeEvents(world.database, id, EVENTS);
        await eventually('it is dropped', () => patient.numbers().dropped.slow_reader === 1);
        slow.socket.resume();
        const { code, reason } = await slow.closed;
        assert.deepEqual({ code, reason }, { code: 1013, reason: 'slow_reader' });
        assert.deepEqual(slow.messages.at(-1)?.type, 'closed');
        assert.equal(slow.messages.at(-1)?.['code'], 'slow_reader');
      } finally {
        await patient.close();
      }
    });

    for (const transport of ['websocket', 'polling'] as const) {
      it(`is dropped by Socket.IO's ${transport}, too`, async () => {
        const id = await newRun();
        const socket = connectSocketIo(channel.url, token, { transports: [transport] });
        const answer = await socket
          .timeout(WAIT_TIMEOUT_MS)
          .emitWithAck('join', { room: `workflow:${id}`, after: 0 });
        assert.equal(answer.ok, true);
        const dropped = channel.numbers().dropped.slow_reader ?? 0;
        const readOn = stopReading(socket.io.engine.transport);
        await writeEvents(world.database, id, EVENTS);
        await eventually('it is dropped', () => channel.numbers().dropped.slow_reader === dropped + 1);
        await eventually('it is gone', () => channel.numbers().connections === 0);
        if (transport === 'websocket') {
          await eventually('nothing is left of it', async () => (await channel.sockets()) === 0);
        }
        readOn();
        socket.disconnect();
      });
    }
  });

  async function viewerOf(url: string, id: string): Promise<PlainChannel> {
    const plain = await openPlain(url, token);
    await plain.ask({ type: 'join', room: `workflow:${id}`, after: 0 });
    return plain;
  }
});

/** Makes a client of Socket.IO take nothing more, as one does whose machine sleeps; the answer ends that. */
function stopReading(transport: unknown): () => void {
  const { ws } = transport as { ws?: WebSocket };
  if (ws) {
    ws.pause();
    return () => ws.resume();
  }
  Object.assign(transport as object, { _poll: () => {}, doPoll: () => {} });
  return () => {};
}
