import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { Attempt } from '../../src/activities/deliveries/attempts.ts';
import { createDispatchActivities } from '../../src/activities/deliveries/dispatch.ts';
import { createFirstAttempts } from '../../src/activities/deliveries/first-attempts.ts';
import type { Post } from '../../src/activities/deliveries/post.ts';
import type { DeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import type { DeliveryToSend, GroupEvent } from '../../src/database/webhooks/dispatch.ts';
import type { WebhookTarget } from '../../src/database/webhooks/webhook-targets.ts';
import { eventually } from '../support/eventually.ts';

const EVENT: GroupEvent = {
  seq: 1,
  workspace_id: 'a workspace',
  id: 'evt_1',
  event: 'issue.created',
  timestamp: new Date(),
  body: '{"data":{}}',
  received_at: new Date(),
  traceparent: null,
};
const WEBHOOK = {
  id: 'w1',
  workspace_id: 'a workspace',
  events: [{ event: 'issue.created', filters: [] }],
  active: true,
  disabled_at: null,
  deleted_at: null,
} as Partial<WebhookTarget> as WebhookTarget;
const GROUP = { groupId: 'g1' };
const RECORDED = { kind: 'recorded', result: null } as const;

describe('the dispatch of a group', () => {
  afterEach(() => mock.timers.reset());

  /** Returns the activities of a worker with this store and these attempts, and the ids of the attempts. */
  function open(
    store: Partial<DeliveryStore>,
    attempt: (id: string) => ReturnType<Attempt>,
    webhooks: readonly WebhookTarget[] = [WEBHOOK],
  ) {
    const made: string[] = [];
    const backlogs: string[] = [];
    const whole = store as DeliveryStore;
    const firstAttempts = createFirstAttempts({
      store: whole,
      attempt: ({ id }) => {
        made.push(id);
        return attempt(id);
      },
      control: { drainBacklog: async (id) => void backlogs.push(id) },
    });
    const activities = createDispatchActivities({
      store: whole,
      firstAttempts,
      webhookLoader: {
        loadForGroups: async () => new Map([['a workspace', [...webhooks]]]),
        loadCurrent: () => assert.fail(),
        forget() {},
      },
      engineTime: async () => Date.now(),
    });
    return { ...activities, firstAttempts, made, backlogs };
  }
  const run = (activity: Parameters<MockActivityEnvironment['run']>[0], input: object) =>
    new MockActivityEnvironment().run(activity, input);
  const claimed = { claimGroups: async () => ({ events: [EVENT], isRepeat: false }) };

  it('sends and stores nothing if the group was claimed long ago: another worker may have sent it', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const stored: unknown[] = [];
    const { dispatchGroup, made } = open(
      {
        async claimGroups() {
          const begun = performance.now();
          mock.method(performance, 'now', () => begun + 5_001);
          return { events: [EVENT], isRepeat: false };
        },
        async storeDeliveries(planned) {
          stored.push(...planned);
          return new Set();
        },
      },
      async () => RECORDED,
    );
    const dispatching = run(dispatchGroup, GROUP).finally(() => mock.restoreAll());
    await assert.rejects(dispatching, /claimed more than 5 s ago/);
    // A row without an attempt would be pending for ever.
    mock.timers.tick(60_000);
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    assert.deepEqual([made, stored], [[], []]);
  });

  it('lets the process do other work while it plans many events', async () => {
    let now = performance.now();
    let turns = 0;
    const turn = () => {
      turns += 1;
      if (turns < 100) setImmediate(turn);
    };
    const { dispatchGroup, made } = open(
      {
        async claimGroups() {
          // An event takes 4 ms.
          mock.method(performance, 'now', () => (now += 4));
          setImmediate(turn);
          return { events: Array.from({ length: 9 }, (_, seq) => ({ ...EVENT, seq })), isRepeat: false };
        },
        async storeDeliveries() {
          mock.restoreAll();
          assert.ok(turns >= 2, `${turns} turns`);
          turns = 100;
          return new Set();
        },
        markGroupsDone: async () => {},
      },
      async () => RECORDED,
    );
    assert.deepEqual(await run(dispatchGroup, GROUP), { isFinished: true });
    assert.equal(made.length, 9);
  });

  it('stores the rows of attempts in flight before the long activity looks for them', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const stored: string[][] = [];
    const end = Promise.withResolvers<void>();
    const { dispatchGroup, made } = open(
      {
        ...claimed,
        async storeDeliveries(rows) {
          if (rows.length === 0) return new Set();
          stored.push(rows.map(({ id }) => id));
          if (stored.length === 1) throw new Error('no connection');
          return new Set(rows.map(({ id }) => id));
        },
        markGroupsDone: async () => {},
      },
      async () => {
        await end.promise;
        return RECORDED;
      },
    );
    const dispatching = run(dispatchGroup, GROUP);
    while (made.length === 0) await new Promise(setImmediate);
    mock.timers.tick(2_000);
    while (stored.length === 0) await new Promise(setImmediate);
    mock.timers.tick(500);
    assert.deepEqual(await dispatching, { isFinished: false });
    assert.deepEqual(stored, [made, made], 'again, since the first insert failed');
    end.resolve();
  });

  it('fails after a failed attempt, and its repeat makes the attempt again', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    let attempts = 0;
    const slow = Promise.withResolvers<typeof RECORDED>();
    const { dispatchGroup } = open(
      {
        claimGroups: async () => ({
          events: [EVENT, { ...EVENT, seq: 2, id: 'evt_2' }],
          isRepeat: attempts > 0,
        }),
        findDeliveryIds: async () => new Map(),
        storeDeliveries: async (rows) => new Set(rows.map(({ id }) => id)),
        findWaitingOfGroups: async () => new Set(),
        markGroupsDone: async () => {},
      },
      async () => {
        attempts += 1;
        if (attempts === 1) throw new Error('no connection');
        return attempts === 2 ? await slow.promise : RECORDED;
      },
    );
    const failing = run(dispatchGroup, GROUP);
    while (attempts < 2) await new Promise(setImmediate);
    mock.timers.tick(2_500);
    await assert.rejects(failing, /no connection/);
    const repeated = run(dispatchGroup, GROUP);
    while (attempts < 3) await new Promise(setImmediate);
    slow.resolve(RECORDED);
    assert.deepEqual(await repeated, { isFinished: true });
    assert.equal(attempts, 3, 'the slow attempt is not made twice');
  });

  const waitingOf = (ageMs: number): DeliveryToSend =>
    ({
      id: 'd1',
      webhook_id: 'w1',
      body: Buffer.from('{}'),
      created_at: new Date(Date.now() - ageMs),
    }) as DeliveryToSend;

  /** Finishes a group with one waiting delivery of this age. Returns the attempts, and how often it was read. */
  async function finish(ageMs: number) {
    mock.timers.enable({ apis: ['setTimeout'] });
    let reads = 0;
    let isLeft = true;
    const { finishGroup, made } = open(
      {
        findWaitingOfGroups: async () => new Set(isLeft ? ['d1'] : []),
        async readDeliveriesToSend(ids, before) {
          reads += 1;
          await new Promise(setImmediate);
          return ids.map(() => waitingOf(ageMs)).filter(({ created_at: at }) => before && at < before);
        },
        markGroupsDone: async () => {},
      },
      async () => {
        isLeft = false;
        return RECORDED;
      },
    );
    const finishing = run(finishGroup, GROUP);
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    const found = { made: [...made], reads };
    isLeft = false;
    mock.timers.tick(1_000);
    await finishing;
    return found;
  }

  it('sends a delivery again only if each attempt of its process must have ended', async () => {
    assert.deepEqual(await finish(44_000), { made: [], reads: 1 });
    mock.timers.reset();
    assert.deepEqual((await finish(45_500)).made, ['d1']);
  });

  describe('in the name of its workflow', () => {
    const INACTIVE = { ...WEBHOOK, id: 'w2', active: false };

    /** Dispatches groups. `waiting`: the webhooks with a delivery that was not recorded. Returns what is written and sent. */
    async function dispatch(input: object, { isRepeat = false, waiting = ['w1'], isLeft = false } = {}) {
      const calls: unknown[] = [];
      const { dispatchGroup, made } = open(
        {
          async claimGroups(groupIds, workflowId) {
            calls.push(['claim', groupIds, workflowId]);
            return { events: [EVENT], isRepeat };
          },
          async findDeliveryIds(seqs) {
            calls.push(['find', seqs]);
            return new Map([['1:w1', 'of a previous version']]);
          },
          async storeDeliveries(rows) {
            calls.push(['store', ...rows.map(({ webhook_id: id, status }) => `${id} ${status}`)]);
            return new Set(rows.filter((row) => waiting.includes(row.webhook_id)).map(({ id }) => id));
          },
          async findWaitingOfGroups(groupIds, workflowId) {
            calls.push(['wait', groupIds, workflowId]);
            return new Set(isLeft ? ['left'] : []);
          },
          markGroupsDone: async (groupIds, workflowId, at) => {
            assert.ok(Math.abs(at.getTime() - Date.now()) < 60_000);
            calls.push(['done', groupIds, workflowId]);
          },
        },
        async () => RECORDED,
        [WEBHOOK, INACTIVE],
      );
      return { result: await run(dispatchGroup, input), calls, made };
    }

    it('stores what is not sent, sends the rest, and ends the groups', async () => {
      const { result, calls, made } = await dispatch({ groupId: 'g1', groupIds: ['g1', 'g2'] });
      assert.deepEqual(result, { isFinished: true });
      const groups = [['g1', 'g2'], 'test'];
      assert.deepEqual(calls, [
        ['claim', ...groups],
        ['store', 'w2 skipped'],
        ['done', ...groups],
      ]);
      assert.equal(made.length, 1);
      assert.notEqual(made[0], 'of a previous version');
    });

    it('stores all deliveries if it is repeated, and sends those that were not recorded', async () => {
      const started = [
        ['claim', ['g1'], 'test'],
        ['find', [1]],
        ['store', 'w1 pending', 'w2 skipped'],
      ];
      const wait = ['wait', ['g1'], 'test'];
      const repeated = await dispatch(GROUP, { isRepeat: true });
      assert.deepEqual(repeated, {
        result: { isFinished: true },
        calls: [...started, wait, ['done', ['g1'], 'test']],
        made: ['of a previous version'],
      });
      const recorded = await dispatch(GROUP, { isRepeat: true, waiting: [] });
      assert.deepEqual(recorded.made, []);
      const left = await dispatch(GROUP, { isRepeat: true, isLeft: true });
      assert.deepEqual([left.result, left.calls], [{ isFinished: false }, [...started, wait]]);
    });

    it('ends the groups once no delivery waits, or none of those that a previous version names', async () => {
      for (const ids of [undefined, ['d1']]) {
        const calls: unknown[] = [];
        const found = [['d2'], ['d2'], []];
        const find = async (...given: unknown[]) => {
          calls.push(['find', ...given]);
          return new Set(found.shift());
        };
        const { finishGroup } = open(
          {
            findWaiting: find,
            findWaitingOfGroups: find,
            async readDeliveriesToSend(given) {
              calls.push(['read', given]);
              return [];
            },
            markGroupsDone: async (groupIds, workflowId) => void calls.push(['done', groupIds, workflowId]),
          },
          () => assert.fail(),
        );
        await run(finishGroup, { groupId: 'g1', groupIds: ['g1', 'g2'], ...(ids ? { ids } : {}) });
        const asked = ids ? ['find', ids] : ['find', ['g1', 'g2'], 'test'];
        assert.deepEqual(calls, [asked, asked, ['read', ['d2']], asked, ['done', ['g1', 'g2'], 'test']]);
      }
    });
  });

  it('gives first attempts their rows, stores the row of one without a place before it moves, and makes none twice', async () => {
    const done: unknown[] = [];
    const end = Promise.withResolvers<void>();
    const rows = {
      begin() {},
      hasRow: async () => false,
      take: async () => null,
      store: async (ids: readonly string[]) => void done.push(['store', ...ids]),
      close() {},
    };
    const firstAttempts = createFirstAttempts({
      store: {
        moveToBacklog: async (ids) => void done.push(['move', ...ids]),
      } as Partial<DeliveryStore> as DeliveryStore,
      async attempt({ id }, { now: _now, rows: given, ...options }) {
        assert.equal(given, rows);
        done.push([id, options]);
        await end.promise;
        return { kind: 'no_room' };
      },
      control: { drainBacklog: async (id) => void done.push(['drain', id]) },
    });
    const post = {
      ...EVENT,
      id: 'd1',
      webhook_id: 'w1',
      body: Buffer.from(''),
      status: 'pending' as const,
      generation: 0,
      failures: 0,
      in_backlog: false,
    };
    const now = () => new Date();
    const [first] = (await firstAttempts.start([post], now, { rows })).values();
    assert.equal((await firstAttempts.start([post], now)).get('d1'), first);
    assert.deepEqual([...firstAttempts.among(['d2', 'd1'])], [['d1', first]]);
    const inProgress = () => [undefined, EVENT.workspace_id, 'other'].map(firstAttempts.inProgress);
    assert.deepEqual(inProgress(), [1, 1, 0]);
    end.resolve();
    await firstAttempts.close();
    assert.deepEqual(done, [
      ['d1', { trigger: 'automatic', freshMs: 100, startsRetries: true }],
      ['store', 'd1'],
      ['move', 'd1'],
      ['drain', 'w1'],
    ]);
    assert.equal(firstAttempts.among(['d1']).size, 0);
    assert.deepEqual(inProgress(), [0, 0, 0]);
  });

  it('starts many attempts in turns, and stops when it is late', async () => {
    const begun: string[] = [];
    const firstAttempts = createFirstAttempts({
      store: {} as DeliveryStore,
      async attempt({ id }) {
        begun.push(id);
        const until = performance.now() + 3;
        while (performance.now() < until);
        if (id === 'd2') throw new Error('it fails at once');
        return { kind: 'recorded', result: null };
      },
      control: { drainBacklog: () => assert.fail() },
    });
    const posts = Array.from(
      { length: 40 },
      (_, index) => ({ ...EVENT, id: `d${index}` }) as unknown as Post,
    );
    let turns = 0;
    const started = await firstAttempts.start(posts, () => new Date(), { throwIfLate: () => void turns++ });
    // Ten milliseconds are at most four attempts of three.
    assert.ok(turns >= 10, `${turns} turns`);
    const settled = await Promise.allSettled(started.values());
    assert.deepEqual(
      settled.flatMap(({ status }, index) => (status === 'rejected' ? [index] : [])),
      [2],
    );
    begun.length = 0;
    const throwIfLate = () => {
      throw new Error('late');
    };
    await assert.rejects(
      firstAttempts.start(posts, () => new Date(), { throwIfLate }),
      /^Error: late$/,
    );
    assert.ok(begun.length > 0 && begun.length <= 4, `${begun.length} attempts`);
    await firstAttempts.close();
  });

  it('moves deliveries without a place to the backlogs of their webhooks, in batches', async () => {
    const moved: string[][] = [];
    const { firstAttempts, backlogs } = open(
      { moveToBacklog: async (ids) => void moved.push([...ids]) },
      async (id) => {
        if (id === 'late') await eventually('the first batch', () => moved.length > 0);
        return { kind: 'no_room' };
      },
    );
    const posts = [
      ['d1', 'w1'],
      ['late', 'w3'],
      ['d2', 'w2'],
      ['d3', 'w1'],
    ].map(([id = '', webhook_id = '']) => ({
      ...EVENT,
      id,
      webhook_id,
      body: Buffer.from(''),
      status: 'pending' as const,
      generation: 0,
      failures: 0,
      in_backlog: false,
    }));
    await Promise.all((await firstAttempts.start(posts, () => new Date())).values());
    assert.deepEqual(moved, [['d1', 'd2', 'd3'], ['late']]);
    assert.deepEqual(backlogs, ['w1', 'w2', 'w3']);
  });
});
