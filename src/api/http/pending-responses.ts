import type { Context, Next } from 'koa';
import { MAX_PENDING_RESPONSE_BYTES } from '../../domain/common/limits.ts';
import { spenderOf } from './admit.ts';
import { Problem } from './problem.ts';
import type { RequestState } from './request-state.ts';

/** Smaller responses are not counted, in bytes: the rate limit bounds their number. */
const LEAST_COUNTED = 65_536;

/**
 * Limits the size of the responses that a credential has requested and not received: a client that reads nothing must not
 * fill the memory. The only response of a credential may have any size. Streams without a length are read as they are sent.
 */
export function limitPendingResponses() {
  const pending = new Map<string, number>();

  function add(who: string, bytes: number): void {
    const left = (pending.get(who) ?? 0) + bytes;
    if (left > 0) pending.set(who, left);
    else pending.delete(who);
  }

  return async function countResponse(context: Context, next: Next): Promise<void> {
    await next();
    const { caller } = context.state as RequestState;
    const bytes = context.length ?? 0;
    if (caller === undefined || bytes < LEAST_COUNTED || context.res.closed) return;
    const who = spenderOf(caller);
    const before = pending.get(who) ?? 0;
    if (before > 0 && before + bytes > MAX_PENDING_RESPONSE_BYTES) {
      throw new Problem(
        'rate_limited',
        `A credential can have ${MAX_PENDING_RESPONSE_BYTES} bytes of responses that it has not received. Receive them, then try again.`,
        { headers: { 'Retry-After': '1' } },
      );
    }
    add(who, bytes);
    context.res.once('close', () => add(who, -bytes));
  };
}
