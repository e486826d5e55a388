import { setTimeout as wait } from 'node:timers/promises';
import { NODE_CLIENTS } from '../test/support/channel-clients.ts';
import type { ChannelClient } from '../test/support/following.ts';
import { createRandom } from '../test/support/random.ts';
import { startViewer, type Viewer } from '../test/support/viewer.ts';
import type { ViewerRecord } from './records.ts';
import type { Caller } from './caller.ts';
import type { PlannedTask } from './plan-tasks.ts';

/** The clients with one connection. Polling would need a load balancer with sticky sessions. */
const CLIENTS = NODE_CLIENTS.filter(({ name }) => !name.includes('polling'));
const DISCONNECTS = { max: 3, probability: 0.05 };
const LINGER_MS = 15_000;

/** Creates viewers of runs, which reconnect to either gateway from their last event. */
export function createViewers(caller: Caller, gatewayUrls: readonly string[], isOver: () => boolean) {
  const viewers: Viewer[] = [];
  const starting: Promise<void>[] = [];
  const closing: Promise<void>[] = [];

  async function start(plan: PlannedTask, executionId: string): Promise<void> {
    if (plan.viewers === 0) return;
    const token = await caller.requestUntil('POST', '/api/v1/tokens', { body: {}, until: [201] }, isOver);
    if (!token) return;
    const random = createRandom(plan.viewerSeed);
    for (let count = 0; count < plan.viewers; count += 1) {
      const viewer = startViewer({
        client: withIdleTimeout(random.of(CLIENTS)),
        urls: gatewayUrls,
        token: String(token.json.token),
        executionId,
        random: random.fork(),
        disconnects: DISCONNECTS,
      });
      viewers.push(viewer);
      closing.push(closeAfterEnd(viewer));
    }
  }
  const hasEnd = (viewer: Viewer) => viewer.events.some(({ type }) => type === 'run.ended');

  /** Keeps a viewer connected for a short time after the end of the run, since callbacks are reported after it. */
  async function closeAfterEnd(viewer: Viewer): Promise<void> {
    for (let endedAt = 0; !isOver() && (endedAt === 0 || Date.now() - endedAt < LINGER_MS); ) {
      await wait(500);
      if (endedAt === 0 && hasEnd(viewer)) endedAt = Date.now();
    }
    await viewer.close();
  }
  return {
    start: (plan: PlannedTask, executionId: string) => void starting.push(start(plan, executionId)),
    /** The number of viewers, and of those that have received the end of their run. */
    count: () => ({ all: viewers.length, withEnd: viewers.filter(hasEnd).length }),
    async records(): Promise<ViewerRecord[]> {
      await Promise.all(starting);
      await Promise.all(closing);
      return viewers.map((viewer) => ({
        executionId: viewer.executionId,
        client: viewer.client,
        connections: viewer.connections(),
        events: [...viewer.events],
        receivedAt: [...viewer.receivedAt],
      }));
    },
  };
}

const IDLE_TIMEOUT_MS = 8_000;

/** Returns a client that disconnects if it receives nothing for a while, as a page of a run in progress does. */
function withIdleTimeout(client: ChannelClient): ChannelClient {
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
        if (Date.now() - last > IDLE_TIMEOUT_MS) ended.resolve('silent');
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
