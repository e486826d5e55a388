import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { createStreamLimit } from '../../src/api/http/open-streams.ts';
import { MAX_EVENT_STREAMS } from '../../src/domain/common/limits.ts';

describe('the open event streams of a credential', () => {
  it('are limited, and a new one can open when another one closes', async () => {
    const { counted } = createStreamLimit();
    const open = (actor = 'key:a', expiresAt?: Date) =>
      counted(
        { actor, ...(expiresAt ? { claims: { expiresAt } } : {}) },
        () => new Readable({ read: () => {} }),
      );
    const streams = Array.from({ length: MAX_EVENT_STREAMS }, () => open());
    assert.throws(() => open(), { code: 'rate_limited' });
    open('key:b').destroy();
    open('key:a', new Date()).destroy();
    const closed = once(streams[0] as Readable, 'close');
    streams[0]?.destroy();
    await closed;
    streams.push(open());
    assert.throws(() => open(), { code: 'rate_limited' });
    for (const stream of streams) stream.destroy();
  });
});
