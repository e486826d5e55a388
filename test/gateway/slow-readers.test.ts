import assert from 'node:assert/strict';
import type { WebSocket } from 'ws';
import { useWorld } from '../support/world.ts';
import { connectSocketIo } from '../support/channel-clients.ts';
import { openPlain, type PlainChannel } from '../support/plain-channel.ts';
import { eventually, WAIT_TIMEOUT_MS } from '../support/eventually.ts';
import { type HeldTimers, holdTimers } from '../support/held-timers.ts';
import { startOwnChannel } from './own-channel.ts';
import { feedOf, quietRun, writeEvents } from './quiet-runs.ts';

/** 14 MB, more than the buffers of a connection hold. */
const EVENTS = { count: 700, bytes: 20_000 };
/** A time that no other timer has. */
const STALL_MS = 61_001;
const CLOSE_MS = 300;

describe('a viewer that does not read', () => {
  const world = useWorld();
  let token: string;
  before(async () => {
    token = (await world.send('POST', '/api/v1/tokens')).json.token;
  });
  const newRun = () => quietRun(world.database, world.installation);

  describe('until the stall timeout', () => {
    let timers: HeldTimers;
    let channel: Awaited<ReturnType<typeof startOwnChannel>>;
    before(async () => {
      timers = holdTimers(STALL_MS);
      channel = await startOwnChannel(world, { stallMs: STALL_MS, closeTimeoutMs: CLOSE_MS });
    });
    after(async () => {
      timers[Symbol.dispose]();
      await channel.close();
    });
    /** Ends the time that a viewer has, once it is the only one that does not receive. */
    const endStall = async () => {
      await eventually('only one viewer does not receive', () => timers.count() === 1);
      timers.fire();
    };

    it('is dropped as a slow reader, and gets the rest after it reconnects', async () => {
      const id = await newRun();
      const slow = await viewerOf(channel.url, id);
      const quick = await viewerOf(channel.url, id);
      slow.socket.pause();
      await writeEvents(world.database, id, EVENTS);
      const feed = await feedOf(world.database, id);
      await eventually('the quick viewer has all events', () => quick.eventsOf(id).length >= feed.length);
      await endStall();
      await eventually('the viewer is dropped', () => channel.numbers().dropped.slow_reader === 1);
      await eventually('its connection is closed', () => channel.numbers().connections === 1);
      slow.socket.resume();
      await slow.closed;
      const seen = slow.eventsOf(id);
      assert.deepEqual(seen, feed.slice(0, seen.length), 'it has the first events');
      const again = await openPlain(channel.url, token);
      await again.ask({ type: 'join', room: `workflow:${id}`, after: seen.length });
      await eventually(
        'the remaining events arrive',
        () => again.eventsOf(id).length >= feed.length - seen.length,
      );
      assert.deepEqual([...seen, ...again.eventsOf(id)], feed);
      assert.deepEqual(quick.eventsOf(id), feed);
      assert.equal(channel.numbers().dropped.slow_reader, 1, 'no other viewer is dropped');
      await Promise.all([again.close(), quick.close()]);
    });

    it('gets the reason if it reads in time', async () => {
      const id = await newRun();
      const patient = await startOwnChannel(world, { stallMs: STALL_MS, closeTimeoutMs: 3_600_000 });
      try {
        const slow = await viewerOf(patient.url, id);
        slow.socket.pause();
        await writeEvents(world.database, id, EVENTS);
        await endStall();
        await eventually('the viewer is dropped', () => patient.numbers().dropped.slow_reader === 1);
        const later = await viewerOf(channel.url, id);
        later.socket.pause();
        await endStall();
        await eventually('one that was dropped later is closed', () => channel.numbers().connections === 0);
        assert.equal(await patient.sockets(), 1);
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
      it(`is also dropped over Socket.IO's ${transport}`, async () => {
        const id = await newRun();
        const socket = connectSocketIo(channel.url, token, { transports: [transport] });
        const answer = await socket
          .timeout(WAIT_TIMEOUT_MS)
          .emitWithAck('join', { room: `workflow:${id}`, after: 0 });
        assert.equal(answer.ok, true);
        const dropped = channel.numbers().dropped.slow_reader ?? 0;
        const readOn = stopReading(socket.io.engine.transport);
        await writeEvents(world.database, id, EVENTS);
        await endStall();
        await eventually(
          'the viewer is dropped',
          () => channel.numbers().dropped.slow_reader === dropped + 1,
        );
        await eventually('its connection is closed', () => channel.numbers().connections === 0);
        if (transport === 'websocket') {
          await eventually('its TCP connection is closed', async () => (await channel.sockets()) === 0);
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

/** Makes a Socket.IO client stop reading, like one on a sleeping machine. Returns the function that ends this. */
function stopReading(transport: unknown): () => void {
  const { ws } = transport as { ws?: WebSocket };
  if (ws) {
    ws.pause();
    return () => ws.resume();
  }
  Object.assign(transport as object, { _poll: () => {}, doPoll: () => {} });
  return () => {};
}
