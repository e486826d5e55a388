import { setTimeout as wait } from 'node:timers/promises';
import { CHANNEL_PATH } from '../../src/domain/channel/channel.ts';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import { WAIT_TIMEOUT_MS } from './eventually.ts';

/** The response of a run's room to `join`. */
export type Joined = { snapshot: Record<string, unknown>; last_seq: number };

export type FollowOptions = { after?: number; onEvent?: (event: FeedEvent) => void };

/** One connection in one run's room. */
export type Following = {
  joined: Joined;
  /** In the order of arrival. */
  events: readonly FeedEvent[];
  /** Resolves when the connection has ended, with the channel's code, or null. */
  ended: Promise<string | null>;
  disconnect(): Promise<void>;
};

/** A kind of client of the channel. */
export type ChannelClient = {
  name: string;
  /**
   * Connects to the gateway at `url` (http://…) and joins the run's room.
   * @throws Refused, or an Error if the gateway is unavailable
   */
  follow(url: string, token: string, executionId: string, options?: FollowOptions): Promise<Following>;
};

/** The channel refused the connection or the join. `code` is empty if the client cannot see it. */
export class Refused extends Error {
  override name = 'Refused';
  readonly code: string;
  constructor(code: string) {
    super(`refused: ${code || 'without a code'}`);
    this.code = code;
  }
}

/** Handles what happens on a client's connection, and builds its {@link Following}. */
export type FollowingBuilder = {
  event(event: FeedEvent): void;
  joined(answer: Joined): void;
  refused(code: string): void;
  failed(why: string): void;
  ended(code: string | null): void;
  /** Waits for the response to `join`. Disconnects if there is none, or if it is an error. */
  follow(name: string, disconnect: () => void | Promise<void>): Promise<Following>;
};

/** `isStrict`: an event before the response to `join` is an error. */
export function beginFollowing(onEvent: FollowOptions['onEvent'], isStrict = true): FollowingBuilder {
  const events: FeedEvent[] = [];
  const answer = Promise.withResolvers<Joined>();
  const ended = Promise.withResolvers<string | null>();
  // The promise can reject before it is awaited.
  answer.promise.catch(() => {});
  return {
    event(event) {
      events.push(event);
      onEvent?.(event);
    },
    joined(joined) {
      if (isStrict && events.length > 0)
        answer.reject(new Error(`events arrived before the response to join: ${JSON.stringify(events)}`));
      answer.resolve({ snapshot: joined.snapshot, last_seq: joined.last_seq });
    },
    refused: (code) => answer.reject(new Refused(code)),
    failed: (why) => answer.reject(new Error(why)),
    ended(code) {
      ended.resolve(code);
      answer.reject(code === null ? new Error('the connection ended') : new Refused(code));
    },
    async follow(name, disconnect) {
      try {
        const joined = await inTime(`joining by ${name}`, answer.promise);
        return { joined, events, ended: ended.promise, disconnect: async () => await disconnect() };
      } catch (error) {
        await disconnect();
        throw error;
      }
    },
  };
}

/** Rejects after `limitMs`, so that no test hangs if a gateway does not respond. */
export async function inTime<T>(what: string, work: Promise<T>, limitMs = WAIT_TIMEOUT_MS): Promise<T> {
  const limit = new AbortController();
  const late = wait(limitMs, null, { signal: limit.signal }).then(() => {
    throw new Error(`${what} took more than ${limitMs} ms`);
  });
  late.catch(() => {});
  return await Promise.race([work, late]).finally(() => limit.abort());
}

/** Returns the message that joins a run's room. */
export function joinMessage(
  executionId: string,
  after: number | undefined,
): { room: string; after?: number } {
  const room = `workflow:${executionId}`;
  return after === undefined ? { room } : { room, after };
}

/** Returns the URL of a plain WebSocket at the gateway. */
export function plainAddress(url: string, token: string): string {
  return `${url.replace(/^http/, 'ws')}${CHANNEL_PATH}?token=${encodeURIComponent(token)}`;
}
