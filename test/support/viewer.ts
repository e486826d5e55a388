import { setTimeout as wait } from 'node:timers/promises';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import type { ChannelClient, Following } from './following.ts';
import type { Random } from './random.ts';
import { eventually, PATIENCE_MS } from './eventually.ts';

/** Somebody who looks at a run, and comes back whenever the connection breaks, by whatever cause. */
export type Viewer = {
  client: string;
  executionId: string;
  /** What was taken so far, over all connections. */
  events: readonly FeedEvent[];
  /** Connections that came about. */
  connections(): number;
  /** Resolves when the event of that number is there; @throws when it is not in time */
  reaches(seq: number, withinMs?: number): Promise<void>;
  close(): Promise<void>;
};

export type ViewerPlan = {
  client: ChannelClient;
  /** Gateways, of which one is chosen for each connection; the first connection takes the first where told so. */
  urls: readonly string[];
  token: string;
  executionId: string;
  random: Random;
  /** How often, at most, the viewer itself breaks off, and after each event how likely. */
  breaks: { most: number; likely: number };
  startsAtFirstUrl?: boolean;
};

const AGAIN_MS = 50;
const AWAY_MS = 300;

/** Looks at a run from its first event on. What comes on a connection that was given up does not count. */
export function startViewer(plan: ViewerPlan): Viewer {
  const { client, urls, token, executionId, random, breaks } = plan;
  const events: FeedEvent[] = [];
  let connections = 0;
  let breaksLeft = breaks.most;
  let isClosed = false;
  let current: Following | null = null;
  let lastTrouble: unknown = null;

  async function look(isFirst: boolean): Promise<void> {
    const url = isFirst && plan.startsAtFirstUrl ? urls[0] : random.of(urls);
    const broken = Promise.withResolvers<void>();
    let isGivenUp = false;
    const following = await client.follow(url ?? '', token, executionId, {
      after: events.at(-1)?.seq ?? 0,
      onEvent(event) {
        if (isGivenUp) return;
        events.push(event);
        if (breaksLeft === 0 || random.next() >= breaks.likely) return;
        breaksLeft -= 1;
        isGivenUp = true;
        broken.resolve();
      },
    });
    connections += 1;
    current = following;
    // Whoever was told to stop while this connection came about has nobody left who would end it.
    if (!isClosed) await Promise.race([broken.promise, following.ended]);
    isGivenUp = true;
    await following.disconnect().catch(() => {});
  }

  async function keepLooking(): Promise<void> {
    for (let isFirst = true; !isClosed; isFirst = false) {
      try {
        await look(isFirst);
        lastTrouble = null;
        if (!isClosed) await wait(Math.floor(random.next() * AWAY_MS));
      } catch (error) {
        lastTrouble = error;
        await wait(AGAIN_MS);
      }
    }
  }
  const looking = keepLooking();

  return {
    client: client.name,
    executionId,
    events,
    connections: () => connections,
    async reaches(seq, withinMs = PATIENCE_MS) {
      const there = () => (events.at(-1)?.seq ?? 0) >= seq;
      await eventually(`${client.name} has event ${seq} of ${executionId}`, there, withinMs).catch(
        (error: Error) => {
          const trouble = lastTrouble === null ? '' : `; the last trouble: ${(lastTrouble as Error).message}`;
          throw new Error(`${error.message}, but ${events.at(-1)?.seq ?? 'none'}${trouble}`, {
            cause: error,
          });
        },
      );
    },
    async close() {
      isClosed = true;
      await current?.disconnect().catch(() => {});
      await looking;
    },
  };
}
