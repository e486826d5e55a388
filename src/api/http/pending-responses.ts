import type { Context, Next } from 'koa';
import { createCounts } from '../../domain/common/counts.ts';
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
  const pending = createCounts();

  return async function countResponse(context: Context, next: Next): Promise<void> {
    await next();
    const { caller } = context.state as RequestState;
    const bytes = context.length ?? 0;
    if (caller === undefined || bytes < LEAST_COUNTED || context.res.closed) return;
    const who = spenderOf(caller);
    const before = pending.of(who);
    if (before > 0 && before + bytes > MAX_PENDING_RESPONSE_BYTES) {
      throw new Problem(
        'rate_limited',
        `A credential can have ${MAX_PENDING_RESPONSE_BYTES} bytes of responses that it has not received. Receive them, then try again.`,
        { headers: { 'Retry-After': '1' } },
      );
    }
    pending.add(who, bytes);
    context.res.once('close', () => pending.add(who, -bytes));
  };
}
