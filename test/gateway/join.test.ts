import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { queryBuilderOf } from '../../src/database/database.ts';
import type { FeedEvent } from '../../src/domain/tasks/feed-events.ts';
import { useWorld } from '../support/world.ts';
import { NODE_CLIENTS } from '../support/channel-clients.ts';
import type { ChannelClient, Following, Refused } from '../support/following.ts';
import { openPlain } from '../support/plain-channel.ts';
import { announcedSeed, createRandom } from '../support/random.ts';
import { eventually } from '../support/eventually.ts';
import { services } from '../support/services.ts';
import { feedOf as storedEvents, quietRun, writeEvents } from './quiet-runs.ts';
import { stateAfter, stateOfDetail, INITIAL_STATE } from './told-state.ts';

const RUNS = 3;
const JOINS = 20;
const BUSY = { steps: 12, step_ms: 50, progress_events: 3, fail: { step: 3, times: 1 } };
/** Each run of `BUSY` has more events than this, even if all reports of a step are merged into one. */
const POSITIONS = 36;
/** Events that a test writes directly. */
const SOME = { count: 6, bytes: 10 };
const [FIRST_CLIENT] = NODE_CLIENTS as [ChannelClient];

describe('the room of a run', function () {
  const world = useWorld();
  let token: string;
  before(async () => {
    token = (await world.send('POST', '/api/v1/tokens')).json.token;
  });

  const submit = async (rehearsal: object) =>
    (await world.submit({ metadata: { rehearsal } })).json.execution_id as string;
  const feedOf = async (id: string): Promise<FeedEvent[]> =>
    (await world.send('GET', `/api/v1/tasks/${id}/events`)).json.data;
  const has = (following: Pick<Following, 'events'>, type: string) =>
    eventually(type, () => following.events.find((event) => event.type === type) ?? null);

  /** Follows the number of the last event of each run. */
  function watchProgress(ids: readonly string[]): { of(id: string): number; stop(): Promise<void> } {
    const lastSeqs = new Map<string, number>();
    const over = new AbortController();
    const watching = (async () => {
      while (!over.signal.aborted) {
        const rows = await queryBuilderOf(world.database)
          .selectFrom('task_runs')
          .select(['id', 'last_seq'])
          .where('id', 'in', ids)
          .execute();
        for (const { id, last_seq: lastSeq } of rows) lastSeqs.set(id, lastSeq);
        await wait(10);
      }
    })();
    return {
      of: (id) => lastSeqs.get(id) ?? 0,
      async stop() {
        over.abort();
        await watching;
      },
    };
  }

  it('omits no event between the snapshot and the first event, at whatever moment a client joins', async () => {
    const random = createRandom(announcedSeed());
    const ids = await Promise.all(Array.from({ length: RUNS }, () => submit(BUSY)));
    const progress = watchProgress(ids);
    const joining = ids.flatMap((id) =>
      Array.from({ length: JOINS }, async () => {
        const client = random.of(NODE_CLIENTS);
        // The positions are event numbers, not times: a busy machine would join many clients at the same event.
        const position = random.whole(0, POSITIONS);
        await eventually(`position ${position}`, () => progress.of(id) >= position);
        return { id, client, following: await client.follow(world.api.url, token, id) };
      }),
    );
    const paused = ids[0] ?? '';
    await eventually('the first steps have run', () => progress.of(paused) >= POSITIONS / 4);
    await world.send('POST', `/api/v1/tasks/${paused}/pause`);
    await world.send('POST', `/api/v1/tasks/${paused}/continue`);
    const followers = await Promise.all(joining);
    await progress.stop();
    const details = new Map<string, unknown>();
    const feeds = new Map<string, FeedEvent[]>();
    for (const id of ids) {
      details.set(id, (await world.reaches(id, 'completed')).json);
      feeds.set(id, await feedOf(id));
    }
    for (const { id, client, following } of followers) {
      const feed = feeds.get(id) ?? [];
      const { snapshot, last_seq } = following.joined;
      await eventually('the last event arrives', () => last_seq + following.events.length >= feed.length);
      assert.deepEqual(following.events, feed.slice(last_seq), `${client.name} joined at ${last_seq}`);
      assert.equal(snapshot['last_seq'], last_seq);
      assert.deepEqual(
        stateOfDetail(snapshot),
        stateAfter(INITIAL_STATE, feed.slice(0, last_seq)),
        `the snapshot at ${last_seq}`,
      );
      assert.deepEqual(stateAfter(stateOfDetail(snapshot), following.events), stateOfDetail(details.get(id)));
      await following.disconnect();
    }
  });

  it('replays an ended run from any event', async () => {
    const id = await submit({ steps: 2, progress_events: 3 });
    await world.reaches(id, 'completed');
    const feed = await feedOf(id);
    for (const client of NODE_CLIENTS) {
      for (const after of [0, 1, Math.floor(feed.length / 2), feed.length]) {
        const following = await client.follow(world.api.url, token, id, { after });
        await eventually('the remaining events arrive', () => following.events.length >= feed.length - after);
        assert.deepEqual(following.events, feed.slice(after), `${client.name} after ${after}`);
        assert.equal(following.joined.last_seq, feed.length);
        assert.equal(following.joined.snapshot['state'], 'completed');
        await following.disconnect();
      }
      const tooFar = client.follow(world.api.url, token, id, { after: feed.length + 1 });
      await assert.rejects(tooFar, (error: Refused) => error.code === 'invalid_message');
    }
  });

  it('emits changes that are made in the Temporal Web UI', async () => {
    const connection = await Connection.connect({ address: services().temporalAddress });
    const { namespace } = services();
    const { workflowService, workflow } = new Client({ connection, namespace });
    const id = await submit({ steps: 1, step_ms: 60_000 });
    await world.reaches(id, 'executing');
    const viewers = await Promise.all(
      NODE_CLIENTS.map((client) => client.follow(world.api.url, token, id, { after: 0 })),
    );
    const viewersSee = (state: string) =>
      Promise.all(
        viewers.map(({ events }) =>
          eventually(
            `a viewer sees the state ${state}`,
            () => stateAfter(INITIAL_STATE, events).state === state,
          ),
        ),
      );
    await viewersSee('executing');
    const request = {
      namespace,
      workflowId: id,
      identity: 'operator',
      reason: 'a look',
      requestId: randomUUID(),
    };
    await workflowService.pauseWorkflowExecution(request);
    await viewersSee('paused');
    const late = await FIRST_CLIENT.follow(world.api.url, token, id);
    assert.equal(late.joined.snapshot['state'], 'paused');
    await workflowService.unpauseWorkflowExecution({ ...request, requestId: randomUUID() });
    await viewersSee('executing');
    await workflow.getHandle(id).terminate('enough');
    await viewersSee('cancelled');
    const feed = await feedOf(id);
    for (const following of [...viewers, late]) {
      await has(following, 'run.ended');
      assert.deepEqual(following.events, feed.slice(feed.length - following.events.length));
      await following.disconnect();
    }
    await connection.close();
  });

  it('sends no events to a client that has left, and continues after it joins again', async () => {
    const id = await quietRun(world.database, world.installation);
    const [plain, witness] = [await openPlain(world.api.url, token), await openPlain(world.api.url, token)];
    const room = `workflow:${id}`;
    for (const client of [plain, witness])
      assert.equal((await client.ask({ type: 'join', room, after: 0 })).type, 'joined');
    await writeEvents(world.database, id, SOME);
    await eventually('the first events arrive', () => plain.eventsOf(id).length === SOME.count);
    assert.deepEqual(await plain.ask({ type: 'leave', room }), { type: 'left', id: 'ask-2', room });
    await writeEvents(world.database, id, SOME);
    await eventually(
      'the remaining client has more events',
      () => witness.eventsOf(id).length === 2 * SOME.count,
    );
    await plain.ask({ type: 'leave', room });
    assert.equal(plain.eventsOf(id).length, SOME.count, 'the client that has left has no more events');
    await plain.ask({ type: 'join', room, after: SOME.count });
    await writeEvents(world.database, id, SOME);
    const feed = await storedEvents(world.database, id);
    assert.equal(feed.length, 3 * SOME.count);
    await eventually('the remaining events arrive', () => plain.eventsOf(id).length >= feed.length);
    assert.deepEqual(plain.eventsOf(id), feed);
    await Promise.all([plain.close(), witness.close()]);
  });

  it('continues once from the requested event if a client joins again', async () => {
    const id = await quietRun(world.database, world.installation);
    const plain = await openPlain(world.api.url, token);
    const room = `workflow:${id}`;
    await plain.ask({ type: 'join', room, after: 0 });
    await writeEvents(world.database, id, SOME);
    await eventually('the first events arrive', () => plain.eventsOf(id).length === SOME.count);
    const again = await plain.ask({ type: 'join', room, after: 2 });
    assert.equal(again.type, 'joined');
    const before = plain.messages.slice(0, plain.messages.indexOf(again));
    await writeEvents(world.database, id, SOME);
    const feed = await storedEvents(world.database, id);
    const after = () =>
      plain.messages
        .slice(before.length + 1)
        .filter(({ type }) => type === 'event')
        .map(({ event }) => event as FeedEvent);
    await eventually('the remaining events arrive', () => after().length >= feed.length - 2);
    assert.deepEqual(after(), feed.slice(2));
    await plain.close();
  });

  it('can be joined together with other rooms on one connection', async () => {
    const ids = await Promise.all([0, 1, 2].map(() => submit({ steps: 3 })));
    const plain = await openPlain(world.api.url, token);
    await Promise.all(ids.map((id) => plain.ask({ type: 'join', room: `workflow:${id}`, after: 0 })));
    for (const id of ids) {
      await world.reaches(id, 'completed');
      const feed = await feedOf(id);
      await eventually('all events arrive', () => plain.eventsOf(id).length >= feed.length);
      assert.deepEqual(plain.eventsOf(id), feed);
    }
    await plain.close();
  });

  it('repeats the id of a request in the reply, and adds none otherwise', async () => {
    const id = await submit({});
    const plain = await openPlain(world.api.url, token);
    assert.equal((await plain.ask({ type: 'join', room: `workflow:${id}` })).type, 'joined');
    plain.say({ type: 'join', room: `workflow:${id}` });
    const joined = await plain.hears('joined');
    assert.deepEqual(Object.keys(joined).toSorted(), ['last_seq', 'room', 'snapshot', 'type']);
    await plain.close();
  });
});
