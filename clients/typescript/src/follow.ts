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
  /** For how long a service that is away is waited for; a minute unless given. */
  patienceMs?: number | undefined;
  /** Told at every connection by which way the events come from then on. */
  onWay?: ((way: WayName) => void) | undefined;
};

/** A task's events from behind `after` to the last one, whatever happens to connections meanwhile. */
export async function* followFeed(
  http: Http,
  channel: ChannelDependencies,
  id: string,
  { after = 0, patienceMs, signal, onWay }: FollowOptions,
): AsyncGenerator<FeedEvent, void, undefined> {
  const task: Followed = { http, channel, id, signal };
  const patience = createPatience(http.random, patienceMs);
  const others = WAYS.slice(1);
  let way: Way = WAYS[0];
  let failures = 0;
  for (let seq = after; ; ) {
    const before = seq;
    try {
      onWay?.(way.name);
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
        await pause(patience.afterFailure(error), signal);
        continue;
      }
      failures = seq > before ? 1 : failures + 1;
      const next = error.isFinal || failures >= way.tries ? others.shift() : undefined;
      if (next === undefined) await pause(backoff(failures, http.random), signal);
      else [way, failures] = [next, 0];
    }
  }
}
