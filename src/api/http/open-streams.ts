import type { Readable } from 'node:stream';
import { createCounts } from '../../domain/common/counts.ts';
import {
  MAX_EVENT_STREAMS,
  MAX_EVENT_STREAMS_OF_OWNER,
  MAX_WAITING_REQUESTS,
  MAX_WAITING_REQUESTS_OF_OWNER,
} from '../../domain/common/limits.ts';
import type { Caller } from './caller.ts';
import { Problem } from './problem.ts';

type Holder = Pick<Caller, 'actor'> & { claims?: { expiresAt: Date } };
/** The most of a credential, and of all tokens of a key or person. `what` names them in problems. */
type Limits = { most: number; mostOfOwner: number; what: string };

/** Limits what each credential, and all tokens of a key or person, keep open at the same time in this process. */
function createOpenLimit({ most, mostOfOwner, what }: Limits) {
  const open = createCounts();

  function check(key: string, limit: number, whose: string): void {
    if (open.of(key) < limit) return;
    throw new Problem('rate_limited', `${whose} can have ${limit} ${what}. Try again when one has ended.`, {
      headers: { 'Retry-After': '10' },
    });
  }

  return {
    /**
     * Counts one more until the returned function is called, once.
     * @throws Problem `rate_limited`
     */
    enter(caller: Holder): () => void {
      const owner = `of ${caller.actor}`;
      // Tokens of one owner that expire at the same time count as one.
      const credential = `${caller.actor} ${caller.claims?.expiresAt.getTime() ?? ''}`;
      check(credential, most, 'A credential');
      check(owner, mostOfOwner, 'The tokens of a key or person');
      for (const key of [owner, credential]) open.add(key, 1);
      return () => {
        for (const key of [owner, credential]) open.add(key, -1);
      };
    },
  };
}

/** Limits the open event streams. */
export function createStreamLimit() {
  const limits = { most: MAX_EVENT_STREAMS, mostOfOwner: MAX_EVENT_STREAMS_OF_OWNER };
  const limit = createOpenLimit({ ...limits, what: 'open event streams' });
  return {
    /**
     * Returns the stream that `create` returns, and counts it until it is closed.
     * @throws Problem `rate_limited`
     */
    counted(caller: Holder, create: () => Readable): Readable {
      const leave = limit.enter(caller);
      return create().once('close', leave);
    },
  };
}

/** Limits the requests that wait for a change. */
export function createWaitLimit() {
  const limits = { most: MAX_WAITING_REQUESTS, mostOfOwner: MAX_WAITING_REQUESTS_OF_OWNER };
  const limit = createOpenLimit({ ...limits, what: 'waiting requests' });
  return {
    /**
     * Returns what `wait` resolves with, and counts the request until then.
     * @throws Problem `rate_limited`
     */
    async counted<T>(caller: Holder, wait: () => Promise<T>): Promise<T> {
      const leave = limit.enter(caller);
      return await wait().finally(leave);
    },
  };
}

export type StreamLimit = ReturnType<typeof createStreamLimit>;
export type WaitLimit = ReturnType<typeof createWaitLimit>;
