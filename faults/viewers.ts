import { setTimeout as wait } from 'node:timers/promises';
import { NODE_CLIENTS } from '../test/support/channel-clients.ts';
import type { ChannelClient } from '../test/support/following.ts';
import { createRandom } from '../test/support/random.ts';
import { startViewer, type Viewer } from '../test/support/viewer.ts';
import type { ViewerBook } from './books.ts';
import type { Caller } from './caller.ts';
import type { PlannedTask } from './plan-tasks.ts';

/** Those that hold one connection; a poller needs a balancer that brings it to the same gateway. */
const CLIENTS = NODE_CLIENTS.filter(({ name }) => !name.includes('polling'));
const BREAKS = { most: 3, likely: 0.05 };
const STAYS_MS = 15_000;

/** Viewers of runs, who come back to either gateway from the last event that they have. */
export function seatViewers(caller: Caller, gatewayUrls: readonly string[], isOver: () => boolean) {
  const viewers: Viewer[] = [];
  const seating: Promise<void>[] = [];
  const leaving: Promise<void>[] = [];

  async function seat(plan: PlannedTask, executionId: string): Promise<void> {
    if (plan.viewers === 0) return;
    const token = await caller.insist('POST', '/api/v1/tokens', { body: {}, until: [201] }, isOver);
    if (!token) return;
    const random = createRandom(plan.viewerSeed);
    for (let count = 0; count < plan.viewers; count += 1) {
      const viewer = startViewer({
        client: patient(random.of(CLIENTS)),
        urls: gatewayUrls,
        token: String(token.json.token),
        executionId,
        random: random.fork(),
        breaks: BREAKS,
      });
      viewers.push(viewer);
      leaving.push(leaveInTime(viewer));
    }
  }
  const hasEnd = (viewer: Viewer) => viewer.events.some(({ type }) => type === 'run.ended');

  /** Whoever has seen the end stays for a moment, since callbacks are told of after it. */
  async function leaveInTime(viewer: Viewer): Promise<void> {
    for (let endedAt = 0; !isOver() && (endedAt === 0 || Date.now() - endedAt < STAYS_MS); ) {
      await wait(500);
      if (endedAt === 0 && hasEnd(viewer)) endedAt = Date.now();
    }
    await viewer.close();
  }
  return {
    seat: (plan: PlannedTask, executionId: string) => void seating.push(seat(plan, executionId)),
    /** How many there are, and how many have seen the end of their run. */
    count: () => ({ all: viewers.length, withEnd: viewers.filter(hasEnd).length }),
    async books(): Promise<ViewerBook[]> {
      await Promise.all(seating);
      await Promise.all(leaving);
      return viewers.map((viewer) => ({
        executionId: viewer.executionId,
        client: viewer.client,
        connections: viewer.connections(),
        events: [...viewer.events],
      }));
    },
  };
}

const SILENT_MS = 8_000;

/** A client that takes a way without any sign of life for broken, as a page does that knows its run goes on. */
function patient(client: ChannelClient): ChannelClient {
  return {
    name: client.name,
    async follow(url, token, executionId, options = {}) {
      let last = Date.now();
      const following = await client.follow(url, token, executionId, {
        ...options,
        onEvent(event) {
          last = Date.now();
          options.onEvent?.(event);
        },
      });
      const ended = Promise.withResolvers<string | null>();
      const watching = setInterval(() => {
        if (Date.now() - last > SILENT_MS) ended.resolve('silent');
      }, 1_000);
      void following.ended.then(ended.resolve);
      void ended.promise.then(() => clearInterval(watching));
      return {
        ...following,
        ended: ended.promise,
        async disconnect() {
          ended.resolve(null);
          await following.disconnect();
        },
      };
    },
  };
}
