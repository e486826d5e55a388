import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { createStreamLimit, createWaitLimit } from '../../src/api/http/open-streams.ts';
import {
  MAX_EVENT_STREAMS,
  MAX_EVENT_STREAMS_OF_OWNER,
  MAX_WAITING_REQUESTS,
  MAX_WAITING_REQUESTS_OF_OWNER,
} from '../../src/domain/common/limits.ts';

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

describe('the open event streams of a person', () => {
  it('are limited over all tokens, and a closed one no longer counts', async () => {
    const { counted } = createStreamLimit();
    let tokens = 0;
    const open = () => {
      tokens += 1;
      const claims = { expiresAt: new Date(tokens * 1_000) };
      return counted({ actor: 'user:a', claims }, () => new Readable({ read: () => {} }));
    };
    for (let round = 0; round < 2; round += 1) {
      const streams = Array.from({ length: MAX_EVENT_STREAMS_OF_OWNER }, () => open());
      assert.throws(open, { code: 'rate_limited', message: /The tokens of a key or person/ });
      const closed = streams.map((stream) => once(stream, 'close'));
      for (const stream of streams) stream.destroy();
      await Promise.all(closed);
    }
  });
});

describe('the waiting requests of a credential', () => {
  it('are limited, and a new one can wait when another one ends, however it ends', async () => {
    const { counted } = createWaitLimit();
    const { promise, resolve } = Promise.withResolvers<string>();
    const failing = Promise.withResolvers<string>();
    const wait = (actor = 'key:a', until: Promise<string> = promise) => counted({ actor }, () => until);
    const waiting = Array.from({ length: MAX_WAITING_REQUESTS - 1 }, () => wait());
    const failed = assert.rejects(wait('key:a', failing.promise), /gone/);
    await assert.rejects(wait(), { code: 'rate_limited', message: /1000 waiting requests/ });
    assert.equal(await wait('key:b', Promise.resolve('other')), 'other');
    failing.reject(new Error('gone'));
    await failed;
    waiting.push(wait());
    await assert.rejects(wait(), { code: 'rate_limited' });
    resolve('changed');
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set(['changed']));
    assert.equal(await wait(), 'changed');
  });
});

describe('the waiting requests of a person', () => {
  it('are limited over all tokens', async () => {
    const { counted } = createWaitLimit();
    const { promise, resolve } = Promise.withResolvers<void>();
    let tokens = 0;
    const wait = () => {
      tokens += 1;
      return counted({ actor: 'user:a', claims: { expiresAt: new Date(tokens * 1_000) } }, () => promise);
    };
    const waiting = Array.from({ length: MAX_WAITING_REQUESTS_OF_OWNER }, wait);
    await assert.rejects(wait(), { code: 'rate_limited', headers: { 'Retry-After': '10' } });
    resolve();
    await Promise.all(waiting);
    await wait();
  });
});
