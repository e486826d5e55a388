import { setTimeout as wait } from 'node:timers/promises';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import type { ChannelClient, Following } from './following.ts';
import type { Random } from './random.ts';
import { eventually, WAIT_TIMEOUT_MS } from './eventually.ts';

/** A viewer of a run, which reconnects whenever the connection breaks. */
export type Viewer = {
  client: string;
  executionId: string;
  /** The events so far, over all connections. */
  events: readonly FeedEvent[];
  /** When each event arrived, by `performance.now()`. */
  receivedAt: readonly number[];
  /** The number of connections so far. */
  connections(): number;
  /** Resolves when the event with this `seq` has arrived. @throws after `withinMs` */
  reaches(seq: number, withinMs?: number): Promise<void>;
  close(): Promise<void>;
};

export type ViewerPlan = {
  client: ChannelClient;
  /** The gateways. Each connection uses a random one; with `startsAtFirstUrl` the first connection uses the first. */
  urls: readonly string[];
  token: string;
  executionId: string;
  random: Random;
  /** The viewer disconnects at most `max` times, after each event with this probability. */
  disconnects: { max: number; probability: number };
  startsAtFirstUrl?: boolean;
};

const RETRY_INTERVAL_MS = 50;
const MAX_PAUSE_MS = 300;

/** Watches a run from its first event. Events on a connection that the viewer has closed do not count. */
export function startViewer(plan: ViewerPlan): Viewer {
  const { client, urls, token, executionId, random, disconnects } = plan;
  const events: FeedEvent[] = [];
  const receivedAt: number[] = [];
  let connections = 0;
  let disconnectsLeft = disconnects.max;
  let isClosed = false;
  let current: Following | null = null;
  let lastError: unknown = null;

  async function watchOnce(isFirst: boolean): Promise<void> {
    const url = isFirst && plan.startsAtFirstUrl ? urls[0] : random.of(urls);
    const broken = Promise.withResolvers<void>();
    let isGivenUp = false;
    const following = await client.follow(url ?? '', token, executionId, {
      after: events.at(-1)?.seq ?? 0,
      onEvent(event) {
        if (isGivenUp) return;
        events.push(event);
        receivedAt.push(performance.now());
        if (disconnectsLeft === 0 || random.next() >= disconnects.probability) return;
        disconnectsLeft -= 1;
        isGivenUp = true;
        broken.resolve();
      },
    });
    connections += 1;
    current = following;
    // After a `close` during this connection's start, nothing else would end it.
    if (!isClosed) await Promise.race([broken.promise, following.ended]);
    isGivenUp = true;
    await following.disconnect().catch(() => {});
  }

  async function watch(): Promise<void> {
    for (let isFirst = true; !isClosed; isFirst = false) {
      try {
        await watchOnce(isFirst);
        lastError = null;
        if (!isClosed) await wait(Math.floor(random.next() * MAX_PAUSE_MS));
      } catch (error) {
        lastError = error;
        await wait(RETRY_INTERVAL_MS);
      }
    }
  }
  const watching = watch();

  return {
    client: client.name,
    executionId,
    events,
    receivedAt,
    connections: () => connections,
    async reaches(seq, withinMs = WAIT_TIMEOUT_MS) {
      const there = () => (events.at(-1)?.seq ?? 0) >= seq;
      await eventually(`${client.name} has event ${seq} of ${executionId}`, there, withinMs).catch(
        (error: Error) => {
          const trouble = lastError === null ? '' : `; the last error: ${(lastError as Error).message}`;
          throw new Error(`${error.message}, but ${events.at(-1)?.seq ?? 'none'}${trouble}`, {
            cause: error,
          });
        },
      );
    },
    async close() {
      isClosed = true;
      await current?.disconnect().catch(() => {});
      await watching;
    },
  };
}
