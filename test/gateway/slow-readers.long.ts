import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { useWorld } from '../support/world.ts';
import { startGateways, type GatewayProcess } from '../support/gateways.ts';
import { openPlain, type PlainChannel } from '../support/plain-channel.ts';
import { eventually } from '../support/eventually.ts';
import { feedOf, quietRun, writeEvents } from './quiet-runs.ts';

const SLOW = 10;
/** 400 MB if the gateway kept them for each client that does not read, and not 256 KiB and an event. */
const EVENTS = { count: 10_000, bytes: 4_000, together: 100 };
/** 400 MB if the gateway kept the replies. */
const REQUESTS = { count: 200, bytes: 200_000 };
/** A process grows by 60 to 120 MB, whatever it keeps: compiled code, socket buffers and garbage. */
const MOST_GROWTH_MB = 200;

describe('a viewer that does not read', function () {
  this.timeout(180_000);
  const world = useWorld();
  let token: string;
  before(async () => {
    token = (await world.send('POST', '/api/v1/tokens')).json.token;
  });
  const newRun = () => quietRun(world.database, world.installation);

  describe('at a separate gateway', () => {
    let gateway: GatewayProcess;
    let close: () => Promise<void>;
    beforeEach(async () => {
      const { databaseUrl, taskQueue } = world.configuration;
      const started = await startGateways({ databaseUrl, taskQueue }, 1);
      [gateway] = started.gateways as [GatewayProcess];
      close = started.close;
    });
    afterEach(() => close());

    it('costs little memory, delays no other viewer, and gets all events when it reads again', async () => {
      const id = await newRun();
      // They exist before: the gateway closes a viewer that has not read for 30 s.
      await writeEvents(world.database, id, EVENTS);
      const before = megabytesOf(gateway.pid);
      let most = before;
      const watching = setInterval(() => (most = Math.max(most, megabytesOf(gateway.pid))), 100);
      const slow = await Promise.all(Array.from({ length: SLOW }, () => pausedViewerOf(gateway.url, id)));
      const quick = await viewerOf(gateway.url, id);
      await eventually('the quick viewer has all events', () => quick.eventsOf(id).length >= EVENTS.count);
      clearInterval(watching);
      for (const { socket } of slow) socket.resume();
      assert.ok(most - before < MOST_GROWTH_MB, `the gateway grew from ${before} to ${most} MB`);
      console.log(`      ${SLOW} slow readers, ${EVENTS.count} events: from ${before} to ${most} MB`);
      const feed = await feedOf(world.database, id);
      assert.deepEqual(quick.eventsOf(id), feed);
      for (const viewer of slow) {
        await eventually('all events arrive', () => viewer.eventsOf(id).length >= feed.length);
        assert.deepEqual(viewer.eventsOf(id), feed);
      }
      await Promise.all([quick, ...slow].map((viewer) => viewer.close()));
    });

    it('costs little memory if it sends many requests', async () => {
      const id = await newRun();
      const output = JSON.stringify({ text: 'x'.repeat(REQUESTS.bytes) });
      await world.database.em.fork().execute('update task_runs set output = ? where id = ?', [output, id]);
      const asking = await Promise.all(Array.from({ length: SLOW }, () => openPlain(gateway.url, token)));
      const before = megabytesOf(gateway.pid);
      for (const plain of asking) {
        plain.socket.pause();
        for (let number = 0; number < REQUESTS.count; number += 1)
          plain.say({ type: 'join', room: `workflow:${id}` });
      }
      const witness = await viewerOf(gateway.url, id);
      let most = before;
      for (let number = 0; number < 40; number += 1) {
        most = Math.max(most, megabytesOf(gateway.pid));
        await witness.ask({ type: 'leave', room: `workflow:${id}` });
        await witness.ask({ type: 'join', room: `workflow:${id}` });
      }
      console.log(
        `      ${SLOW} clients that request 200 KB ${REQUESTS.count} times: from ${before} to ${most} MB`,
      );
      // The replies to the witness are garbage for a while, too.
      assert.ok(most - before < MOST_GROWTH_MB, `the gateway grew from ${before} to ${most} MB`);
      for (const plain of asking) plain.socket.terminate();
      await witness.close();
    });
  });

  async function viewerOf(url: string, id: string): Promise<PlainChannel> {
    const plain = await openPlain(url, token);
    await plain.ask({ type: 'join', room: `workflow:${id}`, after: 0 });
    return plain;
  }

  /** The same for a viewer that stops to read at the response. */
  async function pausedViewerOf(url: string, id: string): Promise<PlainChannel> {
    const plain = await openPlain(url, token);
    plain.socket.on('message', () => {
      if (plain.messages.at(-1)?.type === 'joined') plain.socket.pause();
    });
    plain.say({ type: 'join', room: `workflow:${id}`, after: 0 });
    await plain.hears('joined');
    return plain;
  }
});

function megabytesOf(pid: number): number {
  const status = `/proc/${pid}/status`;
  const kilobytes = existsSync(status)
    ? /^VmRSS:\s+(\d+)/m.exec(readFileSync(status, 'utf8'))?.[1]
    : spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).stdout;
  return Math.round(Number(kilobytes) / 1_024);
}
