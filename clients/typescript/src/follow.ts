import type { ChannelDependencies } from './channel.ts';
import { lookAt, WAYS, type Followed, type Way, type WayName } from './follow-ways.ts';
import type { Http } from './http.ts';
import { createPatience } from './patience.ts';
import { backoff } from './retry.ts';
import { pause } from './time.ts';
import type { CallOptions, FeedEvent } from './types.ts';
import { WayFailed } from './way-failed.ts';

export type FollowOptions = CallOptions & {
  /** Only events behind this `seq`; 0, so all of them, unless given. */
  after?: number | undefined;
  /** How long an unreachable service is retried, in milliseconds; a minute unless given. */
  patienceMs?: number | undefined;
  /**
   * Called when a connection is made, with the way by which events come from then on. `reason` says why the previous
   * connection ended; null for the first one.
   */
  onWay?: ((way: WayName, reason: string | null) => void) | undefined;
  /** Called when the service does not respond, before each retry. */
  onUnreachable?: ((error: Error) => void) | undefined;
};

/** Yields a task's events from behind `after` to the last one, in order and each once, over any number of connections. */
export async function* followFeed(
  http: Http,
  channel: ChannelDependencies,
  id: string,
  { after = 0, patienceMs, signal, onWay, onUnreachable }: FollowOptions,
): AsyncGenerator<FeedEvent, void, undefined> {
  const patience = createPatience(http.random, patienceMs);
  const others = WAYS.slice(1);
  let way: Way = WAYS[0];
  let connected: WayName | null = null;
  let reason: string | null = null;
  const onConnected = () => {
    // Each poll is a connection of its own.
    if (way.name === 'polling' && connected === 'polling') return;
    connected = way.name;
    onWay?.(way.name, reason);
  };
  const task: Followed = { http, channel, id, signal, onConnected };
  let failures = 0;
  for (let seq = after; ; ) {
    const before = seq;
    try {
      for await (const event of way.read(task, seq)) {
        if (event.seq <= seq) continue;
        seq = event.seq;
        patience.restored();
        yield event;
      }
      if ((await lookAt(task, seq)).isOver) return;
      patience.restored();
      if (others.length > 0) throw new WayFailed('It ended before the task did.');
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof WayFailed)) {
        const wait = patience.afterFailure(error);
        onUnreachable?.(error as Error);
        await pause(wait, signal);
        continue;
      }
      reason = error.message;
      failures = seq > before ? 1 : failures + 1;
      const next = error.isFinal || failures >= way.tries ? others.shift() : undefined;
      if (next === undefined) await pause(backoff(failures, http.random), signal);
      else [way, failures] = [next, 0];
    }
  }
}
