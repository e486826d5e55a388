import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mock } from 'node:test';
import { eventStreamOf, type StreamItem } from '../../src/api/a2a/event-stream.ts';
import type { Caller } from '../../src/api/http/caller.ts';
import { createStreamLimit } from '../../src/api/http/open-streams.ts';
import { MAX_EVENT_STREAMS } from '../../src/domain/common/limits.ts';

describe('a stream of the A2A protocol', () => {
  const caller = { actor: 'key:a' } as Caller;
  const open = (items: AsyncGenerator<StreamItem>, limit = createStreamLimit()) =>
    eventStreamOf(items, { limit, caller, errorOf: (error) => ({ message: (error as Error).message }) });

  async function* oneAndThen(next: Promise<unknown>): AsyncGenerator<StreamItem> {
    yield { data: 'first', id: 1 };
    await next;
  }
  async function* failing(): AsyncGenerator<StreamItem> {
    await Promise.reject(new Error('the database is unavailable'));
    yield { data: 'never', id: null };
  }

  it('has heartbeats while it is quiet', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const end = Promise.withResolvers<void>();
    try {
      const stream = await open(oneAndThen(end.promise));
      const [first] = await once(stream, 'data');
      assert.equal(String(first), 'id: 1\ndata: "first"\n\n');
      const heard = once(stream, 'data');
      await new Promise((resolve) => setImmediate(resolve));
      mock.timers.tick(15_000);
      assert.match(String((await heard)[0]), /^: /);
      end.resolve();
      await once(stream, 'close');
    } finally {
      mock.timers.reset();
    }
  });

  it('ends its source when the client disconnects', async () => {
    const next = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    async function* endless(): AsyncGenerator<StreamItem> {
      try {
        yield { data: 'first', id: 1 };
        await next.promise;
        for (;;) yield { data: 'more', id: 2 };
      } finally {
        ended.resolve();
      }
    }
    const stream = await open(endless());
    await once(stream, 'data');
    stream.destroy();
    next.resolve();
    await ended.promise;
  });

  it('reports a later failure as an event', async () => {
    const stream = await open(oneAndThen(Promise.reject(new Error('gone'))));
    const texts: string[] = [];
    for await (const text of stream) texts.push(String(text));
    assert.equal(texts.join(''), 'id: 1\ndata: "first"\n\nevent: error\ndata: {"message":"gone"}\n\n');
  });

  it('counts until it ends, and not at all if it does not begin', async () => {
    const limit = createStreamLimit();
    for (let count = 0; count <= MAX_EVENT_STREAMS; count += 1) {
      await assert.rejects(open(failing(), limit), /unavailable/);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const end = Promise.withResolvers<void>();
    const streams = await Promise.all(
      Array.from({ length: MAX_EVENT_STREAMS }, () => open(oneAndThen(end.promise), limit)),
    );
    await assert.rejects(open(oneAndThen(end.promise), limit), { code: 'rate_limited' });
    const closed = streams.map((stream) => once(stream.resume(), 'close'));
    end.resolve();
    await Promise.all(closed);
    (await open(oneAndThen(end.promise), limit)).destroy();
  });
});
