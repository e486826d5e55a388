import type { Readable } from 'node:stream';
import { MAX_EVENT_STREAMS, MAX_EVENT_STREAMS_OF_OWNER } from '../../domain/common/limits.ts';
import type { Caller } from './caller.ts';
import { Problem } from './problem.ts';

/** Limits the open streams of each credential, and of all tokens of a key or person, in this process. */
export function createStreamLimit() {
  const open = new Map<string, number>();

  function add(key: string, change: 1 | -1): void {
    const count = (open.get(key) ?? 0) + change;
    if (count > 0) open.set(key, count);
    else open.delete(key);
  }

  return {
    /**
     * Returns the stream that `create` returns, and counts it until it is closed.
     * @throws Problem `rate_limited`
     */
    counted(
      caller: Pick<Caller, 'actor'> & { claims?: { expiresAt: Date } },
      create: () => Readable,
    ): Readable {
      const owner = `of ${caller.actor}`;
      // Tokens of one owner that expire at the same time count as one.
      const credential = `${caller.actor} ${caller.claims?.expiresAt.getTime() ?? ''}`;
      check(open.get(credential), MAX_EVENT_STREAMS, 'A credential');
      check(open.get(owner), MAX_EVENT_STREAMS_OF_OWNER, 'The tokens of a key or person');
      add(owner, 1);
      add(credential, 1);
      return create().once('close', () => {
        add(owner, -1);
        add(credential, -1);
      });
    },
  };
}

function check(count: number | undefined, most: number, whose: string): void {
  if ((count ?? 0) < most) return;
  throw new Problem('rate_limited', `${whose} can have ${most} open event streams.`, {
    headers: { 'Retry-After': '10' },
  });
}
