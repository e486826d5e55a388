import assert from 'node:assert/strict';
import { pino } from 'pino';
import { createRetryStarter } from '../../src/api/deliveries/retry-starter.ts';
import { createGroupStarter } from '../../src/api/events/group-starter.ts';
import { createStarter } from '../../src/api/starter.ts';
import { createStartQueue, type StartQueue } from '../../src/domain/common/start-queue.ts';
import { EngineRefusal, startFailure } from '../../src/temporal/task-control.ts';
import { eventually } from '../support/eventually.ts';

const GRPC_UNAUTHENTICATED = 16;

/** The failure of a start with this gRPC code. */
const failureWith = (code: number) =>
  startFailure(Object.assign(new Error('of Temporal'), { code, details: '', metadata: {} }));

/** Creates a starter of numbers, and a function that ends a start. */
function numbers(
  options: { concurrency?: number; batch?: number; restMs?: number; queue?: StartQueue<number> } = {},
) {
  const started: number[][] = [];
  const open: PromiseWithResolvers<void>[] = [];
  const starter = createStarter<number>({
    start: async (items) => {
      started.push([...items]);
      const end = Promise.withResolvers<void>();
      open.push(end);
      await end.promise;
    },
    concurrency: options.concurrency ?? 1,
    queue: options.queue ?? createStartQueue({ batch: options.batch ?? 10, restMs: options.restMs ?? 0 }),
    what: 'numbers',
    log: pino({ level: 'silent' }),
  });
  /** Ends the oldest start in progress, and waits until its effects have happened. */
  const end = async (error?: Error): Promise<void> => {
    const oldest = open.shift();
    if (error) oldest?.reject(error);
    else oldest?.resolve();
    await new Promise(setImmediate);
  };
  return { starter, started, end };
}

describe('the starter of groups of events', () => {
  it('is not behind if only the record of the start fails', async () => {
    const dispatched: string[][] = [];
    const starter = createGroupStarter({
      store: { markGroupsStarted: () => Promise.reject(new Error('no connection')) },
      control: {
        async dispatch(ids) {
          dispatched.push([...ids]);
          return false;
        },
      },
      ownAttempts: null,
      log: pino({ level: 'silent' }),
    });
    for (const id of ['one', 'two'])
      starter.add({ id, events: 1, bytes: 1, workspaces: ['own'], traceparent: null });
    await starter.close();
    assert.deepEqual([dispatched, starter.isBehind()], [[['one'], ['two']], false]);
  });
});

describe('a dispatch of events', () => {
  /** Where a dispatch should run and does run, or why it fails. */
  type Place = { here: boolean; isHere: boolean | Error };

  /** Starts groups of these numbers of events, one after another, at these times. Returns where each one should run. */
  async function placesOf(
    groups: readonly { events: number; at: number; isHere?: boolean | Error; workspace?: string }[],
    ownAttempts: ((workspaceId?: string) => number) | null = () => 0,
  ): Promise<Place['here'][]> {
    const places: boolean[] = [];
    let [time, isHere]: [number, boolean | Error] = [0, true];
    const starter = createGroupStarter({
      store: { markGroupsStarted: async () => {} },
      control: {
        async dispatch(_ids, { here = false } = {}) {
          places.push(here);
          if (isHere instanceof Error) throw isHere;
          return here && isHere;
        },
      },
      ownAttempts,
      now: () => time,
      log: pino({ level: 'silent' }),
    });
    for (const [index, group] of groups.entries()) {
      ({ at: time, isHere = true } = group);
      const { events, workspace = 'own' } = group;
      starter.add({ id: String(index), events, bytes: 1, workspaces: [workspace], traceparent: null });
      await eventually('the group is started', () => places.length === index + 1);
      await starter.close();
    }
    return places;
  }
  const refusal = startFailure(Object.assign(new Error('full'), { code: 8, details: '', metadata: {} }));

  it('is made by the process that accepted them, if that sends webhooks and has few attempts in progress', async () => {
    const groups = [{ events: 1, at: 0 }];
    assert.deepEqual(await placesOf(groups), [true]);
    assert.deepEqual(await placesOf(groups, () => 10), [false]);
    assert.deepEqual(await placesOf(groups, null), [false]);
  });

  for (const [what, first] of [
    ['a burst that a delivery worker has', { events: 100 }],
    ['events that Temporal gave to another worker', { events: 1, isHere: false }],
    ['events whose workflow may not have been started', { events: 1, isHere: refusal }],
  ] as const) {
    it(`does not overtake ${what}, for 5 s`, async () => {
      const groups = [
        { at: 0, ...first },
        { at: 4_999, events: 1 },
        { at: 5_000, events: 1 },
      ];
      assert.deepEqual((await placesOf(groups)).slice(1), [false, true]);
    });
  }

  it('follows another burst for 5 s too', async () => {
    const groups = [
      { at: 0, events: 100 },
      { at: 4_000, events: 100 },
      { at: 8_999, events: 1 },
      { at: 9_000, events: 1 },
    ];
    assert.deepEqual(await placesOf(groups), [false, false, false, true]);
  });

  it('does not wait for the bursts of other workspaces', async () => {
    const groups = [
      { at: 0, events: 100, workspace: 'other' },
      { at: 1, events: 1 },
      { at: 2, events: 1, workspace: 'other' },
      { at: 3, events: 1 },
    ];
    assert.deepEqual(await placesOf(groups), [false, true, false, true]);
    const ownAttempts = (id?: string) => (id === 'other' ? 10 : 0);
    assert.deepEqual(await placesOf(groups, ownAttempts), [false, true, false, true]);
  });
});

describe('a starter of stored work', () => {
  const outage = new Error('Temporal is unavailable');

  it('starts an item immediately when idle, and then all later items together', async () => {
    const { starter, started, end } = numbers();
    for (const number of [1, 2, 3]) starter.add(number);
    assert.deepEqual(started, [[1]]);
    await end();
    assert.deepEqual(started, [[1], [2, 3]]);
    await end();
    await starter.close();
  });

  it('limits the number of simultaneous starts and their size', async () => {
    const { starter, started, end } = numbers({ concurrency: 2, batch: 2 });
    for (const number of [1, 2, 3, 4, 5]) starter.add(number);
    assert.deepEqual(started, [[1], [2]]);
    await end();
    assert.deepEqual(started, [[1], [2], [3, 4]]);
    await end();
    assert.deepEqual(started.at(-1), [5]);
    await end();
    await end();
    await starter.close();
  });

  it('pauses after a start, and then starts all waiting items', async () => {
    const { starter, started, end } = numbers({ restMs: 30 });
    starter.add(1);
    await end();
    starter.add(2);
    starter.add(3);
    assert.deepEqual(started, [[1]]);
    while (started.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual(started, [[1], [2, 3]]);
    await end();
    await starter.close();
  });

  it('ends the pause early for an item that should wait less', async () => {
    const later = createStartQueue<number>({ batch: 10, restMs: 600_000 });
    const urgent = createStartQueue<number>({ batch: 10, restMs: 0 });
    const queue: StartQueue<number> = {
      ...later,
      add: (item) => (item === 3 ? urgent : later).add(item),
      take: (now) => urgent.take(now) ?? later.take(now),
    };
    const { starter, started, end } = numbers({ queue });
    starter.add(1);
    await end();
    starter.add(2);
    assert.deepEqual(started, [[1]]);
    starter.add(3);
    assert.deepEqual(started, [[1], [3]]);
    await end(outage);
    await starter.close();
  });

  it('drops waiting items if a start fails, and starts single items until one succeeds', async () => {
    const { starter, started, end } = numbers({ concurrency: 3, batch: 1 });
    for (const number of [1, 2, 3, 4]) starter.add(number);
    await end(outage);
    assert.ok(starter.isBehind());
    await end(outage);
    await end(outage);
    assert.deepEqual(started, [[1], [2], [3]], '4 is dropped');
    for (const number of [5, 6]) starter.add(number);
    assert.deepEqual(started.at(-1), [5]);
    assert.equal(started.length, 4);
    await end();
    assert.ok(!starter.isBehind());
    assert.deepEqual(started.at(-1), [6]);
    await end();
    await starter.close();
  });

  it('continues with other items if Temporal rejects some', async () => {
    const { starter, started, end } = numbers({ batch: 1 });
    for (const number of [1, 2]) starter.add(number);
    await end(new EngineRefusal('refused'));
    assert.ok(!starter.isBehind());
    assert.deepEqual(started, [[1], [2]]);
    await end();
    await starter.close();
  });

  it('is behind while Temporal refuses every start, so that the limits of waiting work apply', async () => {
    const { starter, end } = numbers({ batch: 1 });
    starter.add(1);
    await end(failureWith(GRPC_UNAUTHENTICATED));
    assert.ok(starter.isBehind());
    starter.add(2);
    await end();
    assert.ok(!starter.isBehind());
    await starter.close();
  });

  for (const [code, name] of [
    [3, 'EngineRefusal'],
    [9, 'EngineRefusal'],
    [5, 'EngineUnavailable'],
    [7, 'EngineUnavailable'],
    [GRPC_UNAUTHENTICATED, 'EngineUnavailable'],
    [4, 'EngineUncertain'],
    [14, 'EngineUncertain'],
  ] as const) {
    it(`regards gRPC code ${code} as ${name}`, () => {
      assert.equal(failureWith(code).name, name);
    });
  }

  it('closes when all items are started, or immediately if Temporal is unavailable', async () => {
    const { starter, started, end } = numbers();
    starter.add(1);
    starter.add(2);
    const closed = starter.close();
    await end();
    await end();
    await closed;
    assert.deepEqual(started, [[1], [2]]);
    starter.add(3);
    await end(outage);
    starter.add(4);
    await starter.close();
  });
});

describe('a starter of manual retries', () => {
  it('signals each webhook once for all retries that were stored since the last signal', async () => {
    const signalled: string[] = [];
    const first = Promise.withResolvers<void>();
    const control = {
      async makeManualRetries(webhookId: string): Promise<void> {
        signalled.push(webhookId);
        if (signalled.length === 1) await first.promise;
      },
    };
    const starter = createRetryStarter(control, pino({ level: 'silent' }));
    for (const webhookId of ['one', 'one', 'other', 'one']) starter.add(webhookId);
    assert.deepEqual(signalled, ['one']);
    first.resolve();
    await starter.close();
    assert.deepEqual(signalled, ['one', 'one', 'other']);
  });
});
