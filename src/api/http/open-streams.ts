import type { Readable } from 'node:stream';
import { MAX_EVENT_STREAMS } from '../../domain/common/limits.ts';
import { Problem } from './problem.ts';

/** Limits the open streams of each credential in this process. */
export function createStreamLimit() {
  const open = new Map<string, number>();
  return {
    /**
     * Returns the stream that `create` returns, and counts it until it is closed.
     * @throws Problem `rate_limited`
     */
    counted(actor: string, create: () => Readable): Readable {
      const count = open.get(actor) ?? 0;
      if (count >= MAX_EVENT_STREAMS) {
        throw new Problem('rate_limited', `A credential can have ${MAX_EVENT_STREAMS} open event streams.`, {
          headers: { 'Retry-After': '10' },
        });
      }
      open.set(actor, count + 1);
      return create().once('close', () => {
        const left = (open.get(actor) ?? 1) - 1;
        if (left > 0) open.set(actor, left);
        else open.delete(actor);
      });
    },
  };
}
