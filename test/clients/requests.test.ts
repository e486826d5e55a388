import assert from 'node:assert/strict';
import { startReceiver } from '../support/receiver.ts';
import { useWorld } from '../support/world.ts';
import { plansOf, problemOf, useClient } from './installed-client.ts';

describe('a request of the client package', function () {
  const world = useWorld();
  const { client, baton, connect } = useClient(world);
  const { plan, slow } = plansOf(world);
  const problem = problemOf(client);

  /** Returns a fetch that replaces the first requests, and the headers of all of them as `sent`. */
  function disturbed(...disturbances: ((request: () => Promise<Response>) => Promise<Response>)[]) {
    const sent: Headers[] = [];
    const disturbing: typeof fetch = async (input, init) => {
      sent.push(new Headers(init?.headers));
      const disturb = disturbances.shift() ?? ((request: () => Promise<Response>) => request());
      return await disturb(() => fetch(input, init));
    };
    return { fetch: disturbing, sent };
  }
  const answer =
    (status: number, headers: Record<string, string> = {}) =>
    async () =>
      new Response('busy', { status, headers });
  const losing = async (request: () => Promise<Response>) => {
    await request();
    throw new TypeError('the connection was lost');
  };

  it('submits a task once despite lost responses', async () => {
    const { fetch: losingTwice, sent } = disturbed(losing, losing);
    const title = `Once ${Date.now()}`;
    const { execution_id: id } = await connect({ fetch: losingTwice }).tasks.submit(plan({ title }));
    assert.equal(sent.length, 3);
    assert.equal(new Set(sent.map((headers) => headers.get('Idempotency-Key'))).size, 1);
    const same = (await baton.tasks.list().take(50)).filter((task) => task.title === title);
    assert.deepEqual(
      same.map((task) => task.execution_id),
      [id],
    );
  });

  it('is repeated after 429 and 503, no sooner than Retry-After', async () => {
    const { execution_id: id } = await baton.tasks.submit(plan());
    const { fetch: busy, sent } = disturbed(answer(503), answer(429, { 'Retry-After': '1' }));
    const began = Date.now();
    assert.equal((await connect({ fetch: busy }).tasks.get(id)).execution_id, id);
    assert.equal(sent.length, 3);
    assert.ok(Date.now() - began >= 1_000);
  });

  it('is not repeated endlessly, nor after a long Retry-After', async () => {
    const dead = disturbed(...Array.from({ length: 9 }, () => answer(502)));
    await assert.rejects(connect({ fetch: dead.fetch, retries: 1 }).tasks.get('x'), (error: unknown) => {
      assert.ok(error instanceof client.BatonProblem);
      return error.code === 'unknown' && error.status === 502;
    });
    assert.equal(dead.sent.length, 2);
    const later = disturbed(answer(429, { 'Retry-After': '3600' }));
    await assert.rejects(connect({ fetch: later.fetch }).tasks.get('x'), { retryAfterMs: 3_600_000 });
    assert.equal(later.sent.length, 1);
  });

  it('is not repeated if it controls a run and its outcome is unknown', async () => {
    const { execution_id: id } = await baton.tasks.submit(slow());
    await baton.tasks.waitFor(id, { until: 'executing' });
    const { fetch: losingOnce, sent } = disturbed(losing);
    await assert.rejects(connect({ fetch: losingOnce }).tasks.pause(id), client.BatonUnreachable);
    assert.equal(sent.length, 1);
    const { fetch: busy } = disturbed(answer(429, { 'Retry-After': '0' }));
    assert.equal((await connect({ fetch: busy }).tasks.cancel(id)).execution_id, id);
    await world.reaches(id, 'cancelled');
  });

  it('ends on an abort or a timeout', async () => {
    const { execution_id: id } = await baton.tasks.submit(slow());
    const reason = new Error('enough');
    const aborting = new AbortController();
    const waiting = baton.tasks.waitFor(id, { signal: aborting.signal });
    aborting.abort(reason);
    await assert.rejects(waiting, reason);
    // The reason is thrown unchanged, whatever it is.
    const textReason = AbortSignal.abort('enough said');
    await assert.rejects(
      baton.tasks.waitFor(id, { signal: textReason }),
      (thrown) => thrown === 'enough said',
    );
    await assert.rejects(baton.tasks.get(id, { signal: AbortSignal.abort(reason) }), reason);
    const hanging: typeof fetch = (_, init) =>
      new Promise((_resolve, reject) =>
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error)),
      );
    await assert.rejects(
      connect({ fetch: hanging, timeoutMs: 100, retries: 0 }).tasks.get(id),
      (error: unknown) => {
        assert.ok(error instanceof client.BatonUnreachable);
        return (error.cause as Error).name === 'TimeoutError';
      },
    );
    await baton.tasks.cancel(id);
  });

  it('does not send the key to the target of a redirect', async () => {
    const receiver = await startReceiver();
    const elsewhere = await startReceiver();
    try {
      receiver.redirecting(`${elsewhere.url}/api/v1/tasks`);
      const redirected = connect({ baseUrl: receiver.url, retries: 0 });
      await assert.rejects(redirected.tasks.list().take(1), client.BatonUnreachable);
      assert.equal(elsewhere.requests.length, 0);
    } finally {
      await receiver.close();
      await elsewhere.close();
    }
  });

  it('uses a token, and requests a newer one if the first is rejected', async () => {
    const tokens = ['no token', (await baton.createToken()).token];
    const withToken = connect({ apiKey: undefined, token: () => tokens.shift() ?? 'none is left' });
    await withToken.tasks.list().take(1);
    await withToken.tasks.list().take(1);
    assert.deepEqual(tokens, []);
    const fixed = connect({ apiKey: undefined, token: 'no token' });
    await assert.rejects(fixed.tasks.list().take(1), problem('unauthenticated', 401));
  });

  it('requests one newer token if concurrent requests are rejected one after another', async () => {
    const tokens = ['an old token', (await baton.createToken()).token];
    const first = Promise.withResolvers<void>();
    const { fetch: rejecting, sent } = disturbed(
      async () => Response.json({ data: [], next_cursor: null }),
      answer(401),
      async () => (await first.promise, await answer(401)()),
    );
    const source = () => tokens.shift() ?? assert.fail('a third token');
    const { tasks } = connect({ apiKey: undefined, token: source, fetch: rejecting });
    await tasks.list().take(1);
    const [one, other] = [tasks.list().take(1), tasks.list().take(1)];
    await one;
    first.resolve();
    await other;
    assert.equal(sent.length, 5);
  });
});
