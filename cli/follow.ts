import { setTimeout as sleep } from 'node:timers/promises';
import type { FeedEvent } from '../src/domain/tasks/feed-events.ts';
import { ChannelError } from './channel-error.ts';
import { CliError, EXIT } from './exit-codes.ts';
import { type Followed, isOver, WAYS, type Way } from './follow-ways.ts';

/** In milliseconds. */
type Pauses = {
  /** Between two polls, and before a server that is out of reach is tried again. */
  again: number;
  /** Before a way is tried again that failed while the service is there. */
  soon: number;
};
const PAUSES: Pauses = { again: 1_000, soon: 250 };

export type FollowOptions = {
  /** Only events behind this `seq`. */
  after: number;
  /** How long a server that is out of reach is waited for, in milliseconds. */
  patienceMs: number;
  /** Told whenever the connection is lost. */
  onLost: (reason: string) => void;
  /** Told when a way is given up for good, and by which one it goes on. */
  onOtherWay?: (reason: string, way: string) => void;
  pauses?: Pauses;
};

/**
 * A run's events to the last one, in order, without gap or repeat: by the live channel, by server-sent events where it
 * is not to be had, and by polling where streams do not get through; again from the last `seq` when a connection
 * breaks. Rejects with the CliError of a refusal, or with that of the server's absence once patience is over.
 */
export async function* followFeed(run: Followed, options: FollowOptions): AsyncGenerator<FeedEvent> {
  const { patienceMs, onLost, onOtherWay, pauses = PAUSES } = options;
  const [first, ...others] = WAYS;
  let way: Way = first;
  let seq = options.after;
  let barren = 0;
  let lastHeard = Date.now();
  for (;;) {
    const before = seq;
    let trouble = 'No response';
    try {
      for await (const event of way.read(run, seq)) {
        if (event.seq <= seq) continue;
        seq = event.seq;
        yield event;
      }
      lastHeard = Date.now();
      if (await isOver(run, seq)) return;
      if (others.length === 0) await sleep(pauses.again);
    } catch (error) {
      const isThere = error instanceof ChannelError;
      if (!isThere && !isAbsence(error)) throw error;
      if (isThere || seq > before) lastHeard = Date.now();
      if (!isThere && Date.now() - lastHeard >= patienceMs) throw error;
      trouble = error.message;
      if (!isThere) onLost(trouble);
      await sleep(isThere ? pauses.soon : pauses.again);
      if (!isThere) continue;
    }
    barren = seq > before ? 0 : barren + 1;
    const next = barren >= way.tries ? others.shift() : undefined;
    if (next === undefined) continue;
    way = next;
    barren = 0;
    onOtherWay?.(trouble, way.name);
  }
}

/** The service itself is out of reach. */
function isAbsence(error: unknown): error is CliError {
  return error instanceof CliError && error.exitCode === EXIT.unavailable;
}
