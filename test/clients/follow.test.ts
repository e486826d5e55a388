import assert from 'node:assert/strict';
import type { Baton, FeedEvent, TransportName } from '../../clients/typescript/src/index.ts';
import { quietRun, writeEvents } from '../gateway/quiet-runs.ts';
import { tokenForger } from '../gateway/forged-tokens.ts';
import { startCallbackReceiver } from '../support/callback-receiver.ts';
import { startGateways, type GatewayProcess } from '../support/gateways.ts';
import { openPlain } from '../support/plain-channel.ts';
import { SHARED_RINGS } from '../support/rings.ts';
import { eventually } from '../support/eventually.ts';
import { useOwnWorld } from '../support/world.ts';
import { useClient } from './installed-client.ts';
import { startRelay } from '../support/relay.ts';

const NOWHERE = 'ws://127.0.0.1:9/ws';
const TOKEN_KEY = Buffer.alloc(32, 4);

describe('following a task with the client package', function () {
  this.timeout(90_000);
  const world = useOwnWorld({ environment: SHARED_RINGS });
  const { client, baton, connect } = useClient(world);

  async function submit(rehearsal: Record<string, unknown>, callbackUrl?: string): Promise<string> {
    const { execution_id } = await baton.tasks.submit({
      title: 'A task',
      project_id: world.installation.project_id,
      metadata: { rehearsal },
      ...(callbackUrl === undefined ? {} : { callback_url: callbackUrl }),
    });
    return execution_id;
  }

  /** Follows a run to its end. Returns its events and the transports that were used. */
  async function followToEnd(
    follower: Baton,
    id: string,
    options: { after?: number; onEvent?: (event: FeedEvent) => void } = {},
  ) {
    const events: FeedEvent[] = [];
    const transports: TransportName[] = [];
    for await (const event of follower.tasks.follow(id, {
      ...options,
      onTransport: (transport) => transports.push(transport),
    })) {
      events.push(event);
      options.onEvent?.(event);
    }
    return { events, transports };
  }

  const isQuestion = ({ type, data }: FeedEvent) => type === 'state.changed' && data.to === 'paused';
  const untilDisconnected = () =>
    eventually('no connection is left', async () => {
      const { json } = await world.send('GET', '/health/channel');
      return json.connections === 0;
    });

  it('returns every event once, in order and to the last one', async () => {
    const id = await submit({ steps: 3, step_ms: 50, progress_events: 3 });
    const { events, transports } = await followToEnd(baton, id);
    assert.deepEqual(events, await baton.tasks.events(id));
    assert.deepEqual(
      events.map(({ seq }) => seq),
      events.map((_, index) => index + 1),
    );
    assert.equal(events.at(-1)?.type, 'run.ended');
    assert.deepEqual(transports, ['channel']);
  });

  it('waits for the callback after the end of the run', async () => {
    const receiver = await startCallbackReceiver();
    try {
      let refusals = 1;
      receiver.answering(() => (refusals-- > 0 ? 500 : 204));
      const id = await submit({ steps: 1 }, receiver.url);
      const { events } = await followToEnd(baton, id);
      assert.deepEqual(
        events.slice(-3).map(({ type }) => type),
        ['run.ended', 'callback.attempted', 'callback.attempted'],
      );
    } finally {
      await receiver.close();
    }
  });

  it('continues after a known event, even if the task has ended', async () => {
    const id = await submit({ steps: 2 });
    await baton.tasks.waitFor(id, { until: 'settled' });
    const all = await baton.tasks.events(id);
    const { events } = await followToEnd(baton, id, { after: 3 });
    assert.deepEqual(events, all.slice(3));
    assert.deepEqual((await followToEnd(baton, id, { after: all.length })).events, []);
  });

  it('continues at another gateway if the first one is killed', async () => {
    const settings = {
      databaseUrl: world.configuration.databaseUrl,
      taskQueue: world.configuration.taskQueue,
    };
    const { gateways, close } = await startGateways(settings, 2);
    const [first, second] = gateways as [GatewayProcess, GatewayProcess];
    const relay = await startRelay(first.url);
    try {
      const id = await submit({ steps: 4, progress_events: 4, ask: { step: 2, question: 'Now?' } });
      const onEvent = (event: FeedEvent) => {
        if (!isQuestion(event)) return;
        relay.leadTo(second.url);
        process.kill(first.pid, 'SIGKILL');
        void baton.tasks.continue(id);
      };
      const follower = connect({ channelUrl: `${relay.url.replace('http', 'ws')}/ws` });
      const { events, transports } = await followToEnd(follower, id, { onEvent });
      assert.deepEqual(events, await baton.tasks.events(id));
      assert.deepEqual(transports, ['channel', 'channel']);
    } finally {
      await relay.close();
      await close();
    }
  });

  it('falls back to streams if no gateway is left', async () => {
    const relay = await startRelay(world.api.url);
    const id = await submit({ steps: 4, progress_events: 4, ask: { step: 2, question: 'Now?' } });
    const onEvent = (event: FeedEvent) => {
      if (isQuestion(event)) void relay.close().then(() => baton.tasks.continue(id));
    };
    const follower = connect({ channelUrl: `${relay.url.replace('http', 'ws')}/ws` });
    const { events, transports } = await followToEnd(follower, id, { onEvent });
    assert.deepEqual(events, await baton.tasks.events(id));
    assert.deepEqual([...new Set(transports)], ['channel', 'stream']);
  });

  it('uses streams without a WebSocket or a reachable channel', async () => {
    const id = await submit({ steps: 2, step_ms: 50 });
    for (const options of [{ WebSocket: null }, { channelUrl: NOWHERE }]) {
      const { events, transports } = await followToEnd(connect(options), id);
      assert.deepEqual(events, await baton.tasks.events(id));
      assert.equal(transports.at(-1), 'stream');
    }
  });

  it('polls if streams do not work either', async () => {
    const id = await submit({ steps: 2, step_ms: 50 });
    let cancelled = 0;
    const endless = () =>
      new ReadableStream({
        cancel() {
          cancelled += 1;
          throw new Error('the body cannot be cancelled');
        },
      });
    const withoutStreams: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer;
      await answer.body?.cancel();
      return new Response(endless(), { headers: { 'content-type': 'text/html' } });
    };
    const { events, transports } = await followToEnd(connect({ WebSocket: null, fetch: withoutStreams }), id);
    assert.deepEqual(events, await baton.tasks.events(id));
    assert.deepEqual(transports, ['polling']);
    assert.equal(cancelled, 1);
  });

  it('keeps one connection beyond the life of a token with newer tokens', async () => {
    const { token } = await baton.createToken();
    const forger = tokenForger(token, TOKEN_KEY);
    const id = await submit({ steps: 1, ask: { step: 1, question: 'Now?' } });
    const first = forger.endingIn(9);
    let issued = 0;
    const follower = connect({
      apiKey: undefined,
      token: () => {
        issued += 1;
        return issued === 1 ? first : forger.endingIn(600);
      },
    });
    const unrenewed = await openPlain(world.api.url, first);
    const following = followToEnd(follower, id);
    assert.equal((await unrenewed.closed).reason, 'token_expired');
    assert.equal(issued, 2);
    await baton.tasks.continue(id);
    const { events, transports } = await following;
    assert.deepEqual(events, await baton.tasks.events(id));
    assert.deepEqual(transports, ['channel']);
  });

  it('stops on an abort or a break, and leaves no connection open', async () => {
    const id = await submit({ steps: 2, step_ms: 60_000 });
    const aborting = new AbortController();
    const reason = new Error('enough');
    await assert.rejects(async () => {
      for await (const _ of baton.tasks.follow(id, { signal: aborting.signal })) aborting.abort(reason);
    }, reason);
    for await (const _ of baton.tasks.follow(id)) break;
    await untilDisconnected();
    await baton.tasks.cancel(id);
  });

  it('loses no event if events arrive faster than they are read', async () => {
    const id = await quietRun(world.database, world.installation);
    const count = 12_000;
    await writeEvents(world.database, id, { count, bytes: 20, together: 500 });
    const seqs: number[] = [];
    const transports: TransportName[] = [];
    for await (const { seq } of baton.tasks.follow(id, {
      onTransport: (transport) => transports.push(transport),
    })) {
      seqs.push(seq);
      // Reads nothing until the connection is closed.
      if (seqs.length === 10) await untilDisconnected();
      if (seqs.length === count) break;
    }
    assert.deepEqual(
      seqs,
      Array.from({ length: count }, (_, index) => index + 1),
    );
    assert.ok(transports.length > 1, 'the connection was never renewed');
  });

  it('reports the problem of an unknown task', async () => {
    const unknown = '00000000-0000-7000-8000-000000000000';
    await assert.rejects(followToEnd(baton, unknown), (error: unknown) => {
      assert.ok(error instanceof client.BatonProblem);
      assert.deepEqual([error.status, error.code], [404, 'not_found']);
      return true;
    });
  });

  it('waits for an unavailable service up to the given time', async () => {
    const relay = await startRelay(world.api.url);
    const id = await submit({ steps: 2, step_ms: 60_000 });
    let failures = 0;
    const counting: typeof fetch = (input, init) =>
      fetch(input, init).catch((error: unknown) => {
        failures += 1;
        throw error;
      });
    const follower = connect({ baseUrl: relay.url, WebSocket: null, fetch: counting });
    const follow = async () => {
      for await (const { seq } of follower.tasks.follow(id, { patienceMs: 500 }))
        if (seq === 2) await relay.close();
    };
    await assert.rejects(follow(), client.BatonUnreachable);
    assert.ok(failures >= 2, `${failures} failures`);
    await baton.tasks.cancel(id);
  });
});
