import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Context } from 'koa';
import { limitPendingResponses } from '../../src/api/http/pending-responses.ts';
import { MAX_PENDING_RESPONSE_BYTES } from '../../src/domain/common/limits.ts';

describe('the responses that a credential has not received', () => {
  /** Responds to a request, and returns the function that ends the response. */
  const setUp = () => {
    const limit = limitPendingResponses();
    return async (actor: string | null, bytes: number | undefined) => {
      const res = Object.assign(new EventEmitter(), { closed: false });
      const caller = actor === null ? undefined : { kind: 'key', actor };
      const context = { state: { caller }, length: bytes, res } as unknown as Context;
      await limit(context, async () => {});
      return () => void res.emit('close');
    };
  };

  it('are limited in their size, until one of them is received', async () => {
    const respond = setUp();
    const half = MAX_PENDING_RESPONSE_BYTES / 2;
    const ends = [await respond('key:a', half), await respond('key:a', half)];
    await assert.rejects(respond('key:a', half), { code: 'rate_limited' });
    await respond('key:b', half);
    ends[0]?.();
    await respond('key:a', half);
    await assert.rejects(respond('key:a', half), { code: 'rate_limited' });
  });

  it('may be one of any size', async () => {
    const respond = setUp();
    const end = await respond('key:a', MAX_PENDING_RESPONSE_BYTES + 1);
    await assert.rejects(respond('key:a', 65_536), { code: 'rate_limited' });
    end();
    await respond('key:a', MAX_PENDING_RESPONSE_BYTES + 1);
  });

  it('are not limited if they are small, public, or streams without a length', async () => {
    const respond = setUp();
    await respond('key:a', MAX_PENDING_RESPONSE_BYTES);
    await respond('key:a', 65_535);
    await respond('key:a', undefined);
    await respond(null, MAX_PENDING_RESPONSE_BYTES);
  });
});
