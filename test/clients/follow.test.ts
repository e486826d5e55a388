import assert from 'node:assert/strict';
import type { Baton, BatonOptions, FeedEvent, WayName } from '../../clients/typescript/src/index.ts';
import { quietRun, writeEvents } from '../gateway/quiet-runs.ts';
import { tokenForger } from '../gateway/forged-tokens.ts';
import { SHARED_RINGS, startGateways, type GatewayProcess } from '../support/gateways.ts';
import { startReceiver } from '../support/receiver.ts';
import { eventually } from '../support/eventually.ts';
import { services } from '../support/services.ts';
import { startWorld, type World } from '../support/world.ts';
import { installedClient, type InstalledClient } from './installed-client.ts';
import { startRelay } from './relay.ts';

const NOWHERE = 'ws://127.0.0.1:9/ws';
const TOKEN_KEY = Buffer.alloc(32, 4);

describe('following a task with the client package', function () {
  this.timeout(90_000);
  let world: World;
  let client: Awaited<ReturnType<InstalledClient['load']>>;
  let baton: Baton;

  before(async () => {
    client = await (await installedClient()).load();
    world = await startWorld({ environment: SHARED_RINGS });
    baton = connect();
  });
  after(async () => await world?.close());

  const connect = (options: Partial<BatonOptions> = {}): Baton =>
    client.createBaton({ baseUrl: world.api.url, apiKey: world.installation.api_key, ...options });

  async function submit(rehearsal: Record<string, unknown>, callbackUrl?: string): Promise<string> {
    const { execution_id } = await baton.tasks.submit({
      title: 'A task',
      project_id: world.installation.project_id,
      metadata: { rehearsal },
      ...(callbackUrl === undefined ? {} : { callback_url: callbackUrl }),
    });
    return execution_id;
  }

  /** Follows to the end, and says by which ways. */
  async function followed(by: Baton, id: string, options: { after?: number; onEvent?: () => void } = {}) {
    const events: FeedEvent[] = [];
    const ways: WayName[] = [];
    for await (const event of by.tasks.follow(id, { ...options, onWay: (way) => ways.push(way) })) {
      events.push(event);
      options.onEvent?.();
    }
    return { events, ways };
  }

  const untilNobodyIsConnected = () =>
    eventually('no connection is left', async () => {
      const { json } = await world.send('GET', '/health/channel');
      return json.connections === 0;
    });

  it('gives every event once, in order and to the last one', async () => {
    const id = await submit({ steps: 3, step_ms: 150, progress_events: 3 });
    const { events, ways } = await followed(baton, id);
    assert.deepEqual(events, await baton.tasks.events(id));
    assert.deepEqual(
      events.map(({ seq }) => seq),
      events.map((_, index) => index + 1),
    );
    assert.equal(events.at(-1)?.type, 'run.ended');
    assert.deepEqual(ways, ['channel']);
  });

  it('waits for the callback, which comes behind the end', async () => {
    const receiver = await startReceiver({ tls: services().tls, name: 'localhost' });
    try {
      let refusals = 1;
      receiver.answering(() => (refusals-- > 0 ? 500 : 204));
      const id = await submit({ steps: 1 }, receiver.url);
      const { events } = await followed(baton, id);
      assert.deepEqual(
        events.slice(-3).map(({ type }) => type),
        ['run.ended', 'callback.attempted', 'callback.attempted'],
      );
    } finally {
      await receiver.close();
    }
  });

  it('goes on behind an event that is known, also when the task has ended', async () => {
    const id = await submit({ steps: 2 });
    await baton.tasks.waitFor(id, { until: 'settled', timeoutMs: 30_000 });
    const all = await baton.tasks.events(id);
    const { events } = await followed(baton, id, { after: 3 });
    assert.deepEqual(events, all.slice(3));
    assert.deepEqual((await followed(baton, id, { after: all.length })).events, []);
  });

  it('goes on at another gateway when its own is killed', async () => {
    const place = { databaseUrl: world.configuration.databaseUrl, taskQueue: world.configuration.taskQueue };
    const { gateways, close } = await startGateways(place, 2);
    const [first, second] = gateways as [GatewayProcess, GatewayProcess];
    const relay = await startRelay(first.url);
    try {
      const id = await submit({ steps: 4, step_ms: 700, progress_events: 4 });
      let seen = 0;
      const onEvent = () => {
        if (++seen !== 6) return;
        relay.leadTo(second.url);
        process.kill(first.pid, 'SIGKILL');
      };
      const by = connect({ channelUrl: `${relay.url.replace('http', 'ws')}/ws` });
      const { events, ways } = await followed(by, id, { onEvent });
      assert.deepEqual(events, await baton.tasks.events(id));
      assert.deepEqual(ways, ['channel', 'channel']);
    } finally {
      await relay.close();
      await close();
    }
  });

  it('goes on by other ways when no gateway is left', async () => {
    const relay = await startRelay(world.api.url);
    const id = await submit({ steps: 4, step_ms: 500, progress_events: 4 });
    let seen = 0;
    const onEvent = () => {
      if (++seen === 5) void relay.close();
    };
    const by = connect({ channelUrl: `${relay.url.replace('http', 'ws')}/ws` });
    const { events, ways } = await followed(by, id, { onEvent });
    assert.deepEqual(events, await baton.tasks.events(id));
    assert.deepEqual([...new Set(ways)], ['channel', 'stream']);
  });

  it('takes streams where there is no WebSocket, or none gets through', async () => {
    const id = await submit({ steps: 2, step_ms: 400 });
    for (const options of [{ WebSocket: null }, { channelUrl: NOWHERE }]) {
      const { events, ways } = await followed(connect(options), id);
      assert.deepEqual(events, await baton.tasks.events(id));
      assert.equal(ways.at(-1), 'stream');
    }
  });

  it('asks again and again where no stream gets through either', async () => {
    const id = await submit({ steps: 2, step_ms: 600 });
    const withoutStreams: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) return answer;
      await answer.body?.cancel();
      return new Response('A login page', { headers: { 'content-type': 'text/html' } });
    };
    const { events, ways } = await followed(connect({ WebSocket: null, fetch: withoutStreams }), id);
    assert.deepEqual(events, await baton.tasks.events(id));
    assert.deepEqual([...new Set(ways)], ['channel', 'stream', 'polling']);
  });

  it('keeps one connection longer than a token lives, by newer tokens', async () => {
    const { token } = await baton.createToken();
    const forger = tokenForger(token, TOKEN_KEY);
    let given = 0;
    const by = connect({
      apiKey: undefined,
      token: () => {
        given += 1;
        return forger.endingIn(4);
      },
    });
    const id = await submit({ steps: 3, step_ms: 3_000 });
    const { events, ways } = await followed(by, id);
    assert.deepEqual(events, await baton.tasks.events(id));
    assert.deepEqual(ways, ['channel']);
    assert.ok(given >= 3, `only ${given} tokens were asked for`);
  });

  it('stops where it is told to, and leaves no connection behind', async () => {
    const id = await submit({ steps: 2, step_ms: 60_000 });
    const aborting = new AbortController();
    const reason = new Error('enough');
    await assert.rejects(async () => {
      for await (const _ of baton.tasks.follow(id, { signal: aborting.signal })) aborting.abort(reason);
    }, reason);
    for await (const _ of baton.tasks.follow(id)) break;
    await untilNobodyIsConnected();
    await baton.tasks.cancel(id);
  });

  it('loses nothing where events come faster than they are taken', async () => {
    const id = await quietRun(world.database, world.installation);
    const count = 12_000;
    await writeEvents(world.database, id, { count, bytes: 20, together: 500 });
    const seqs: number[] = [];
    const ways: WayName[] = [];
    for await (const { seq } of baton.tasks.follow(id, { onWay: (way) => ways.push(way) })) {
      seqs.push(seq);
      // Takes no more until the connection was given up.
      if (seqs.length === 10) await untilNobodyIsConnected();
      if (seqs.length === count) break;
    }
    assert.deepEqual(
      seqs,
      Array.from({ length: count }, (_, index) => index + 1),
    );
    assert.ok(ways.length > 1, 'the connection was never made anew');
  });

  it('says what Baton says of a task that is not there', async () => {
    const unknown = '00000000-0000-7000-8000-000000000000';
    await assert.rejects(followed(baton, unknown), (error: unknown) => {
      assert.ok(error instanceof client.BatonProblem);
      assert.deepEqual([error.status, error.code], [404, 'not_found']);
      return true;
    });
  });

  it('waits for a service that is away, for as long as it is told', async () => {
    const relay = await startRelay(world.api.url);
    const id = await submit({ steps: 2, step_ms: 60_000 });
    const by = connect({ baseUrl: relay.url });
    const follow = async () => {
      for await (const { seq } of by.tasks.follow(id, { patienceMs: 1_500 }))
        if (seq === 2) await relay.close();
    };
    const began = Date.now();
    await assert.rejects(follow(), client.BatonUnreachable);
    assert.ok(Date.now() - began >= 1_500);
    await baton.tasks.cancel(id);
  });
});
