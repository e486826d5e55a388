import assert from 'node:assert/strict';
import { setTimeout as wait } from 'node:timers/promises';
import { isTerminal } from '../../src/domain/tasks/task-states.ts';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import { startCallbackReceiver } from '../support/callback-receiver.ts';
import { startWorld, type World } from '../support/world.ts';
import { browserClients } from '../support/channel-browser.ts';
import { NODE_CLIENTS } from '../support/channel-clients.ts';
import { startPythonClient } from '../support/channel-python.ts';
import type { ChannelClient } from '../support/following.ts';
import { startGateways } from '../support/gateways.ts';
import { SHARED_RINGS } from '../support/rings.ts';
import { announcedSeed, createRandom, type Random } from '../support/random.ts';
import { type Receiver } from '../support/receiver.ts';
import { eventually } from '../support/eventually.ts';
import { steerRun } from '../support/steer-run.ts';
import { startViewer, type Viewer } from '../support/viewer.ts';

const RUNS = 50;
const AT_ONCE = 6;
/** A viewer disconnects at most `max` times, after each event with this probability. */
const BREAKS = { max: 3, probability: 0.1 };

describe('every kind of client', function () {
  this.timeout(600_000);
  let world: World;
  let receiver: Receiver;
  let urls: string[];
  let token: string;
  let clients: ChannelClient[];
  const closing: (() => Promise<unknown>)[] = [];
  before(async () => {
    world = await startWorld({ environment: SHARED_RINGS });
    closing.push(world.close);
    const { databaseUrl, taskQueue } = world.configuration;
    const [{ gateways, close }, python] = await Promise.all([
      startGateways({ databaseUrl, taskQueue }, 2),
      startPythonClient(),
    ]);
    const browser = browserClients();
    closing.push(close, python.close, browser.close);
    urls = gateways.map((gateway) => gateway.url);
    clients = [...NODE_CLIENTS, ...browser.clients, python];
    receiver = await startCallbackReceiver();
    closing.push(receiver.close);
    token = (await world.send('POST', '/api/v1/tokens')).json.token;
  });
  after(async () => {
    for (const close of closing.toReversed()) await close();
  });

  it(`gets every event of ${RUNS} runs once and in order, over two gateways with random reconnects`, async () => {
    const random = createRandom(announcedSeed());
    const viewers: Viewer[] = [];
    // The first callback of every run fails, so that events follow the end of the run.
    receiver.answering(({ headers }) => (attempts(receiver, headers['x-service-delivery']) > 1 ? 204 : 500));
    const left = Array.from({ length: RUNS }, () => random.fork());
    const lane = async () => {
      for (let chance = left.pop(); chance; chance = left.pop()) viewers.push(...(await oneRun(chance)));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));

    const figures = clients.map(({ name }) => {
      const ofClient = viewers.filter((viewer) => viewer.client === name);
      const sum = (of: (viewer: Viewer) => number) =>
        ofClient.reduce((total, viewer) => total + of(viewer), 0);
      return {
        name,
        connections: sum((viewer) => viewer.connections()),
        events: sum((viewer) => viewer.events.length),
      };
    });
    for (const { name, connections, events } of figures) {
      console.log(`    ${name}: ${RUNS} runs, ${connections} connections, ${events} events`);
      assert.ok(connections > RUNS, `${name} reconnected`);
    }
  });

  /** Plays one run from its submission to its last event, with a viewer of every kind of client. */
  async function oneRun(random: Random): Promise<Viewer[]> {
    const submitted = await world.submit({
      metadata: { rehearsal: rehearsalBy(random) },
      ...(random.next() < 0.5 ? { callback_url: receiver.url } : {}),
    });
    assert.equal(submitted.status, 201, submitted.text);
    const executionId = submitted.json.execution_id as string;
    const viewers = clients.map((client) =>
      startViewer({ client, urls, token, executionId, random: random.fork(), disconnects: BREAKS }),
    );
    try {
      await disturb(executionId, random);
      const feed = await wholeFeed(executionId);
      await Promise.all(viewers.map((viewer) => viewer.reaches(feed.length)));
      for (const { client, events } of viewers) {
        assert.deepEqual(events, feed, `${client} has another sequence of ${executionId}`);
      }
      return viewers;
    } finally {
      await Promise.all(viewers.map((viewer) => viewer.close()));
    }
  }

  /** Pauses and continues some runs, and cancels others. */
  async function disturb(executionId: string, random: Random): Promise<void> {
    const steer = (action: string) =>
      steerRun(() => world.send('POST', `/api/v1/tasks/${executionId}/${action}`), { mayHaveEnded: true });
    const chance = random.next();
    if (chance > 0.4) return;
    await wait(random.whole(100, 1_200));
    if (chance < 0.1) return await steer('cancel');
    await steer('pause');
    await wait(random.whole(50, 300));
    await steer('continue');
  }

  /** Waits for the last event of a run. Returns all its events. */
  async function wholeFeed(executionId: string): Promise<FeedEvent[]> {
    return await eventually(`${executionId} has ended`, async () => {
      const { json } = await world.send('GET', `/api/v1/tasks/${executionId}`);
      if (!isTerminal(json.state) || json.callback.status === 'pending') return null;
      const { data, last_seq } = (await world.send('GET', `/api/v1/tasks/${executionId}/events`)).json;
      assert.equal(data.length, last_seq);
      return data;
    });
  }
});

function rehearsalBy(random: Random) {
  const steps = random.whole(2, 6);
  const end = random.next();
  const step = random.whole(1, steps);
  return {
    steps,
    step_ms: random.whole(0, 400),
    progress_events: random.whole(0, 20),
    ...(random.next() < 0.3 ? { fail: { step: random.whole(1, steps), times: 1 } } : {}),
    ...(end < 0.1 ? { unrecoverable: { step } } : {}),
    ...(end > 0.9 ? { escalate: { step, reason: 'A person must decide.' } } : {}),
  };
}

function attempts(receiver: Receiver, delivery: unknown): number {
  return receiver.requests.filter(({ headers }) => headers['x-service-delivery'] === delivery).length;
}
