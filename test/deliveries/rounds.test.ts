import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { Attempt, AttemptOutcome } from '../../src/activities/deliveries/attempts.ts';
import { createManualRetryActivities } from '../../src/activities/deliveries/manual-retries.ts';
import { createRetryActivities } from '../../src/activities/deliveries/retries.ts';
import type { RecordedResult } from '../../src/database/webhooks/delivery-results.ts';
import type { DeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import type { WebhookTarget } from '../../src/database/webhooks/webhook-targets.ts';
import { INACTIVE_REASON } from '../../src/domain/webhooks/delivery.ts';
import type { DeliveryToSend } from '../../src/database/webhooks/dispatch.ts';

const engineTime = async () => Date.now();

function deliveryOf(id: string): DeliveryToSend {
  return {
    id,
    webhook_id: 'w1',
    workspace_id: 'a workspace',
    event: 'issue.created',
    timestamp: new Date(),
    body: Buffer.from('{}'),
    traceparent: null,
    test: false,
    status: 'pending',
    generation: 0,
    failures: 0,
    in_backlog: true,
    attempts_count: 0,
    next_attempt_at: null,
    created_at: new Date(),
    updated_at: new Date(),
  };
}

const recorded = (status: 'succeeded' | 'retrying'): AttemptOutcome => ({
  kind: 'recorded',
  result: { status, generation: 0, failures: 0, next_attempt_at: null, number: 1 } satisfies RecordedResult,
});
const NO_ROOM: AttemptOutcome = { kind: 'no_room' };

function targetsWith(change: Partial<WebhookTarget> = {}): Map<string, WebhookTarget> {
  const target = { id: 'w1', active: true, disabled_at: null, deleted_at: null, ...change };
  return new Map([['w1', target as WebhookTarget]]);
}

const ACTIVE = targetsWith();

/** Lets the clock that limits a round jump ahead. */
function jump(ms: number): void {
  const begun = performance.now();
  mock.method(performance, 'now', () => begun + ms);
}

/** Runs an activity. The clock jumps back at its end. */
async function run<Input, Result>(
  environment: MockActivityEnvironment,
  activity: (input: Input) => Promise<Result>,
  input: Input,
): Promise<Result> {
  try {
    return await environment.run(activity, input);
  } finally {
    mock.restoreAll();
  }
}

describe('a round of a backlog', () => {
  /** Drains a backlog of these ids with `attempt`. Returns the result and the ids of the attempts. */
  async function drain(
    ids: readonly string[],
    attempt: (id: string, index: number) => AttemptOutcome,
    {
      width = 1,
      environment = new MockActivityEnvironment(),
      targets = ACTIVE,
    }: { width?: number; environment?: MockActivityEnvironment; targets?: Map<string, WebhookTarget> } = {},
  ) {
    const left = new Set(ids);
    const made: string[] = [];
    const unsent: unknown[] = [];
    const store = {
      listBacklog: async (_id: string, limit: number) => [...left].slice(0, limit).map(deliveryOf),
      readTargets: async () => targets,
      async markUnsent(rows: readonly { id: string }[], status: string, reason: string) {
        for (const { id } of rows) left.delete(id);
        unsent.push([rows.map(({ id }) => id), status, reason]);
      },
    } as Partial<DeliveryStore> as DeliveryStore;
    const attemptOf: Attempt = async ({ id }) => {
      made.push(id);
      const outcome = attempt(id, made.length - 1);
      if (outcome.kind !== 'no_room') left.delete(id);
      return outcome;
    };
    const { drainBacklog } = createRetryActivities({ store, attempt: attemptOf, engineTime });
    const round = await run(environment, drainBacklog, { webhookId: 'w1', width });
    return { round, made, unsent };
  }

  it('sends all, and says whether the last attempt succeeded', async () => {
    const { round, made } = await drain(['a', 'b'], () => recorded('succeeded'));
    assert.deepEqual(made, ['a', 'b']);
    assert.deepEqual(round, { isMore: false, isWell: true, isCrowded: false });
    const failed = await drain(['a', 'b'], (_id, index) => recorded(index === 0 ? 'succeeded' : 'retrying'));
    assert.deepEqual(failed.round, { isMore: false, isWell: false, isCrowded: false });
  });

  it('makes as many attempts at once as it may, each with the delivery read again', async () => {
    const backlog = ['a', 'b', 'c'];
    const limits: number[] = [];
    const options: unknown[] = [];
    const ends = new Map<string, () => void>();
    const store = {
      async listBacklog(_id: string, limit: number) {
        limits.push(limit);
        return backlog.slice(0, limit).map(deliveryOf);
      },
      readTargets: async () => ACTIVE,
    } as Partial<DeliveryStore> as DeliveryStore;
    const attempt: Attempt = async ({ id }, { now: _now, signal: _signal, ...given }) => {
      options.push(given);
      await new Promise<void>((resolve) => ends.set(id, resolve));
      backlog.splice(backlog.indexOf(id), 1);
      return recorded('succeeded');
    };
    const { drainBacklog } = createRetryActivities({ store, attempt, engineTime });
    const draining = new MockActivityEnvironment().run(drainBacklog, { webhookId: 'w1', width: 2 });
    while (ends.size < 2) await new Promise(setImmediate);
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
    assert.deepEqual([...ends.keys()], ['a', 'b']);
    ends.get('b')?.();
    while (ends.size < 3) await new Promise(setImmediate);
    ends.get('c')?.();
    ends.get('a')?.();
    assert.deepEqual(await draining, { isMore: false, isWell: true, isCrowded: false });
    assert.deepEqual(limits, [200, 1]);
    const expected = { trigger: 'automatic', freshMs: null, startsRetries: true };
    assert.deepEqual(options, [expected, expected, expected]);
  });

  it('makes no attempts if the webhook may not get them, and records why, for up to 200 deliveries at once', async () => {
    const backlog = Array.from({ length: 201 }, (_, index) => `d${index}`);
    const never = () => assert.fail('an attempt was made');
    const refused = (targets: Map<string, WebhookTarget>) => drain(backlog, never, { targets });
    const at = new Date();
    const cases: [Map<string, WebhookTarget>, status: string, reason: string][] = [
      [new Map(), 'cancelled', 'the webhook was deleted'],
      [targetsWith({ deleted_at: at }), 'cancelled', 'the webhook was deleted'],
      [targetsWith({ disabled_at: at }), 'held', 'the webhook is disabled'],
      [targetsWith({ active: false }), 'skipped', INACTIVE_REASON],
    ];
    for (const [targets, status, reason] of cases) {
      const { round, unsent } = await refused(targets);
      assert.deepEqual(unsent, [[backlog.slice(0, 200), status, reason]]);
      assert.deepEqual(round, { isMore: true, isWell: true, isCrowded: false });
    }
  });

  it('reads no webhook for an empty backlog', async () => {
    const store = { listBacklog: async () => [] } as Partial<DeliveryStore> as DeliveryStore;
    const { drainBacklog } = createRetryActivities({
      store,
      attempt: () => assert.fail('an attempt was made'),
      engineTime,
    });
    const round = await new MockActivityEnvironment().run(drainBacklog, { webhookId: 'w1', width: 1 });
    assert.deepEqual(round, { isMore: false, isWell: true, isCrowded: false });
  });

  it('is crowded only if no attempt got a place', async () => {
    const none = await drain(['a', 'b'], () => NO_ROOM);
    assert.deepEqual(none.round, { isMore: true, isWell: true, isCrowded: true });
    const one = await drain(['a', 'b'], (id) => (id === 'a' ? recorded('succeeded') : NO_ROOM));
    assert.deepEqual(one.round, { isMore: true, isWell: true, isCrowded: false });
  });

  it('starts no more attempts after 20 s', async () => {
    const { round, made } = await drain(['a', 'b', 'c'], (id) => {
      if (id === 'b') jump(20_001);
      return recorded('succeeded');
    });
    assert.deepEqual(made, ['a', 'b']);
    assert.equal(round.isMore, true);
  });

  it('starts no more attempts after its worker was stopped', async () => {
    const environment = new MockActivityEnvironment();
    const stop = (id: string) => {
      if (id === 'b') environment.cancel();
      return recorded('succeeded');
    };
    const { made } = await drain(['a', 'b', 'c'], stop, { environment });
    assert.deepEqual(made, ['a', 'b']);
  });
});

describe('a round of manual retries', () => {
  /** Makes the manual retries of these ids with `attempt`. Returns the result, and the ids of attempts and ended retries. */
  async function make(
    ids: readonly string[],
    attempt: (id: string, index: number) => AttemptOutcome | Promise<AttemptOutcome>,
    environment = new MockActivityEnvironment(),
  ) {
    const made: string[] = [];
    const ended: string[] = [];
    const store = {
      listManualRetries: async (_id: string, { after, limit }: { after: number; limit: number }) =>
        ids
          .map((id, index) => ({
            deliveryId: id,
            token: id,
            attempts: 0,
            position: index + 1,
            isMade: false,
          }))
          .filter(({ position, token }) => position > after && !ended.includes(token))
          .slice(0, limit),
      readDeliveriesToSend: async (read: readonly string[]) => read.map(deliveryOf),
      endManualRetries: async (tokens: readonly string[]) => void ended.push(...tokens),
    } as Partial<DeliveryStore> as DeliveryStore;
    const attemptOf: Attempt = async ({ id }, { freshMs }) => {
      assert.equal(freshMs, null, 'a retry may have waited for minutes: its delivery is read again');
      made.push(id);
      return await attempt(id, made.length - 1);
    };
    const { makeManualRetries } = createManualRetryActivities({ store, attempt: attemptOf, engineTime });
    const round = await run(environment, makeManualRetries, { webhookId: 'w1' });
    return { round, made, ended };
  }

  const ids = Array.from({ length: 30 }, (_, index) => `d${index}`);

  it('makes all, and records that they were made', async () => {
    const { round, made, ended } = await make(ids, () => recorded('retrying'));
    assert.deepEqual(made, ids);
    assert.deepEqual(ended.toSorted(), ids.toSorted());
    assert.deepEqual(round, { isMore: false, isCrowded: false });
  });

  it('ends those that were made before or whose delivery is gone, and makes the others for their requests', async () => {
    const made: unknown[] = [];
    const ended: string[] = [];
    const reads: unknown[] = [];
    const retryOf = (deliveryId: string, position: number, isMade: boolean) => {
      const token = `t${position}`;
      return { deliveryId, token, attempts: position - 4, position, isMade };
    };
    const store = {
      async listManualRetries(webhookId: string, { after, limit }: { after: number; limit: number }) {
        reads.push([webhookId, after, limit]);
        const all = [retryOf('d1', 4, true), retryOf('gone', 5, false), retryOf('d2', 6, false)];
        return all.filter(({ position, token }) => position > after && !ended.includes(token));
      },
      readDeliveriesToSend: async (read: readonly string[]) =>
        read.filter((id) => id !== 'gone').map((id) => ({ ...deliveryOf(id), attempts_count: 2 })),
      endManualRetries: async (tokens: readonly string[]) => void ended.push(...tokens),
    } as Partial<DeliveryStore> as DeliveryStore;
    const attempt: Attempt = async ({ id }, { trigger, token, startsRetries, isWanted }) => {
      const succeeded = { ...deliveryOf(id), status: 'succeeded', attempts_count: 2 } as const;
      const isStillWanted = isWanted?.(succeeded);
      const isWantedBefore = isWanted?.({ ...succeeded, attempts_count: 3 });
      made.push([id, trigger, token, startsRetries, isStillWanted, isWantedBefore]);
      return recorded('retrying');
    };
    const { makeManualRetries } = createManualRetryActivities({ store, attempt, engineTime });
    const round = await new MockActivityEnvironment().run(makeManualRetries, { webhookId: 'w1' });
    assert.deepEqual(made, [['d2', 'manual', 't6', false, true, false]]);
    assert.deepEqual(ended.toSorted(), ['t4', 't5', 't6']);
    assert.deepEqual(reads.slice(0, 2), [
      ['w1', 0, 10],
      ['w1', 6, 10],
    ]);
    assert.deepEqual(round, { isMore: false, isCrowded: false });
  });

  it('leaves those without a place to the next round', async () => {
    const { round, made, ended } = await make(ids.slice(0, 2), () => NO_ROOM);
    assert.deepEqual(ended, []);
    assert.ok(made.length >= 2);
    assert.deepEqual(round, { isMore: true, isCrowded: true });
  });

  it('ends after three minutes, and says that more may wait', async () => {
    const full = await make(ids, (_id, index) => {
      if (index === 4) jump(180_001);
      return recorded('succeeded');
    });
    assert.ok(full.made.length < 10, `${full.made.length} attempts`);
    assert.deepEqual(full.ended.toSorted(), full.made.toSorted());
    assert.deepEqual(full.round, { isMore: true, isCrowded: false });
    const requested = ['d0'];
    const { made, round } = await make(requested, () => {
      requested.push('d1');
      jump(180_001);
      return recorded('succeeded');
    });
    assert.deepEqual([made, round], [['d0'], { isMore: true, isCrowded: false }]);
  });

  it('starts no more attempts after its worker was stopped', async () => {
    const environment = new MockActivityEnvironment();
    const { made } = await make(
      ids,
      (_id, index) => {
        if (index === 4) environment.cancel();
        return recorded('succeeded');
      },
      environment,
    );
    assert.ok(made.length < 10, `${made.length} attempts`);
  });

  it('throws the error of an attempt after the others have ended', async () => {
    const second = Promise.withResolvers<AttemptOutcome>();
    const making = make(ids.slice(0, 2), (_id, index) => {
      if (index === 0) throw new Error('no connection');
      setImmediate(() => second.resolve(recorded('succeeded')));
      return second.promise;
    });
    await assert.rejects(making, /no connection/);
  });
});

describe('an attempt of a test or a scheduled retry without a place', () => {
  for (const [trigger, mostMs] of [
    ['test', 2_000],
    ['manual', 30_000],
  ] as const) {
    it(`is tried again after at most ${mostMs / 1_000} s if it is a ${trigger} attempt`, async () => {
      const store = {
        readDeliveriesToSend: async () => [deliveryOf('d1')],
      } as Partial<DeliveryStore> as DeliveryStore;
      const { attemptOnce } = createRetryActivities({ store, attempt: async () => NO_ROOM, engineTime });
      // After many tries, the wait has grown to its limit.
      const environment = new MockActivityEnvironment({ attempt: 50 });
      const input = { deliveryId: 'd1', trigger, token: 'a token', attempts: 0 };
      await assert.rejects(environment.run(attemptOnce, input), (error: { nextRetryDelay?: unknown }) => {
        const delay = Number(error.nextRetryDelay);
        assert.ok(delay <= mostMs && delay >= mostMs / 2, `${delay} ms`);
        return true;
      });
    });
  }
});

describe('a scheduled attempt of a delivery', () => {
  const retrying = (change: Partial<DeliveryToSend> = {}): DeliveryToSend => ({
    ...deliveryOf('d1'),
    status: 'retrying',
    generation: 2,
    in_backlog: false,
    ...change,
  });
  const MINUTE_MS = 60_000;

  /** Makes an attempt of generation 2. `states`: the delivery at each read. Returns the attempts and the failure. */
  async function make(
    states: readonly (DeliveryToSend | null)[],
    outcome: (index: number) => AttemptOutcome = () => recorded('succeeded'),
    environment = new MockActivityEnvironment(),
  ) {
    const made: unknown[] = [];
    const unsent: unknown[] = [];
    let reads = 0;
    const store = {
      async readDeliveriesToSend(ids: readonly string[]) {
        assert.deepEqual(ids, ['d1']);
        const state = states[Math.min(reads++, states.length - 1)];
        return state ? [state] : [];
      },
      markUnsent: async ([one]: readonly { id: string }[], status: string, reason: string) =>
        void unsent.push(one?.id, status, reason),
    } as Partial<DeliveryStore> as DeliveryStore;
    const attempt: Attempt = async ({ id, body }, { signal, requestSignal, now: _now, ...options }) => {
      assert.deepEqual(options, { trigger: 'automatic', startsRetries: false });
      assert.ok(signal && signal === requestSignal);
      made.push([id, body.toString()]);
      return outcome(made.length - 1);
    };
    const { attemptDelivery } = createRetryActivities({ store, attempt, engineTime });
    const failure = await environment.run(attemptDelivery, { deliveryId: 'd1', generation: 2 }).then(
      () => null,
      (error: { type: string; nonRetryable: boolean; nextRetryDelay?: number; message: string }) => error,
    );
    return { made, unsent, failure };
  }
  const ONCE = [['d1', '{}']];
  const recordedAs = (change: Partial<RecordedResult>): AttemptOutcome => ({
    kind: 'recorded',
    result: { status: 'retrying', generation: 2, failures: 2, next_attempt_at: null, number: 3, ...change },
  });

  it('is made if the delivery still waits for it, and ends the schedule if it succeeds or the delivery is gone', async () => {
    assert.deepEqual(await make([retrying()]), { made: ONCE, unsent: [], failure: null });
    const deleted = await make([retrying()], () => ({ kind: 'recorded', result: null }));
    assert.deepEqual(deleted, { made: ONCE, unsent: [], failure: null });
    const held = await make([retrying()], () => recordedAs({ status: 'held' }));
    assert.equal(held.failure, null);
    for (const other of [null, retrying({ status: 'succeeded' }), retrying({ generation: 3 })])
      assert.deepEqual(await make([other]), { made: [], unsent: [], failure: null });
  });

  it('fails with the wait until the next one, or permanently after the last one', async () => {
    const due = new Date(Date.now() + MINUTE_MS);
    const { failure } = await make([retrying()], () => recordedAs({ next_attempt_at: due }));
    assert.deepEqual(
      [failure?.type, failure?.message, failure?.nonRetryable],
      ['DeliveryFailed', 'attempt 3 failed', false],
    );
    const wait = Number(failure?.nextRetryDelay);
    assert.ok(wait > MINUTE_MS / 2 && wait <= MINUTE_MS, `${wait} ms`);
    const overdue = await make([retrying()], () => recordedAs({ next_attempt_at: new Date(0) }));
    assert.equal(Number(overdue.failure?.nextRetryDelay), 1);
    const last = await make([retrying()], () => recordedAs({ status: 'failed' }));
    assert.deepEqual(
      [last.failure?.type, last.failure?.nonRetryable, last.failure?.nextRetryDelay],
      ['DeliveryFailed', true, undefined],
    );
  });

  it('waits if it is not due yet, but not for a last second', async () => {
    const early = await make([retrying({ next_attempt_at: new Date(Date.now() + MINUTE_MS) })]);
    assert.deepEqual([early.made, early.failure?.type], [[], 'DeliveryFailed']);
    const wait = Number(early.failure?.nextRetryDelay);
    assert.ok(wait > MINUTE_MS / 2 && wait <= MINUTE_MS, `${wait} ms`);
    const near = await make([retrying({ next_attempt_at: new Date(Date.now() + 1_000) })]);
    assert.deepEqual([near.made, near.failure], [ONCE, null]);
  });

  it('tries again after at most 30 s if no place was free', async () => {
    const { failure } = await make([retrying()], () => NO_ROOM, new MockActivityEnvironment({ attempt: 50 }));
    assert.equal(failure?.type, 'NoFreePlace');
    const wait = Number(failure?.nextRetryDelay);
    assert.ok(wait >= 15_000 && wait <= 30_000, `${wait} ms`);
    const first = await make([retrying()], () => NO_ROOM);
    assert.ok(Number(first.failure?.nextRetryDelay) <= 1_000);
  });

  it('continues with the next one if another worker has recorded it since', async () => {
    const next = retrying({ failures: 2, next_attempt_at: new Date(Date.now() + MINUTE_MS) });
    const { made, failure } = await make([retrying(), next], () => ({ kind: 'unsent' }));
    assert.deepEqual([made, failure?.message], [ONCE, 'the next attempt is not due yet']);
  });

  it('is not made if the payload was deleted, which the delivery says', async () => {
    const { made, unsent, failure } = await make([retrying({ body: null })]);
    assert.deepEqual([made, failure], [[], null]);
    assert.deepEqual(unsent, ['d1', 'cancelled', 'the payload was deleted after its retention period']);
  });
});

describe('an attempt outside the schedule', () => {
  const TOKEN = '01890000-0000-7000-8000-000000000000';
  /** The time in the token, in milliseconds. */
  const REQUESTED = 0x0189_0000_0000;

  /** Makes an attempt for a request. `outcome`: of the attempt. Returns the attempts, and the writes. */
  async function make(
    input: object,
    {
      delivery = deliveryOf('d1'),
      isScheduled = true,
      wanted = null,
    }: { delivery?: DeliveryToSend | null; isScheduled?: boolean; wanted?: object | null } = {},
  ) {
    const made: unknown[] = [];
    const written: unknown[] = [];
    const store = {
      readDeliveriesToSend: async () => (delivery ? [delivery] : []),
      async startScheduledRetry(token: string) {
        written.push(['start', token]);
        return isScheduled;
      },
      endScheduledRetry: async (token: string) => void written.push(['end', token]),
      markUnsent: async (_rows: unknown, status: string) => void written.push(['unsent', status]),
      recordUnmadeRetry: async ({ id }: { id: string }, { why }: { why: string }) =>
        void written.push(['unmade', id, why]),
    } as Partial<DeliveryStore> as DeliveryStore;
    const attempt: Attempt = async ({ id }, { trigger, token, freshMs, startsRetries, isWanted }) => {
      const progress = { ...deliveryOf('d1'), ...wanted };
      made.push([id, trigger, token, freshMs, startsRetries, ...(wanted ? [isWanted?.(progress)] : [])]);
      return recorded('succeeded');
    };
    const { attemptOnce } = createRetryActivities({ store, attempt, engineTime });
    const request = { deliveryId: 'd1', trigger: 'manual', token: TOKEN, attempts: 1, ...input } as const;
    await new MockActivityEnvironment().run(attemptOnce, request);
    return { made, written };
  }
  const MADE = ['d1', 'manual', TOKEN, 0, false];

  it('is made once for its request, without retries of its own', async () => {
    assert.deepEqual(await make({}), { made: [MADE], written: [] });
    assert.deepEqual(await make({}, { delivery: null }), { made: [], written: [] });
  });

  it('is made for a scheduled retry only if that is still stored, which it then ends', async () => {
    const ends = [
      ['start', TOKEN],
      ['end', TOKEN],
    ];
    assert.deepEqual(await make({ scheduled: true }), { made: [MADE], written: ends });
    assert.deepEqual(await make({ scheduled: true }, { isScheduled: false }), { made: [], written: ends });
  });

  it('is not made if the delivery has succeeded since, was cancelled, or is a test that was made', async () => {
    const isMade = async (input: object, change: Partial<DeliveryToSend>) =>
      (await make(input, { delivery: { ...deliveryOf('d1'), ...change } })).made.length === 1;
    assert.ok(!(await isMade({}, { status: 'cancelled' })));
    assert.ok(!(await isMade({}, { status: 'succeeded', attempts_count: 2 })));
    assert.ok(await isMade({}, { status: 'succeeded', attempts_count: 1 }));
    assert.ok(await isMade({}, { status: 'failed', attempts_count: 2 }));
    assert.ok(!(await isMade({ trigger: 'test' }, { status: 'failed', attempts_count: 2 })));
    assert.ok(await isMade({ trigger: 'test' }, { status: 'failed', attempts_count: 1 }));
  });

  it('decides in the same way when the delivery is read again', async () => {
    for (const [trigger, wanted, isWanted] of [
      ['manual', { status: 'succeeded', attempts_count: 2 }, false],
      ['manual', { status: 'failed', attempts_count: 2 }, true],
      ['test', { status: 'failed', attempts_count: 2 }, false],
      ['test', { status: 'failed', attempts_count: 1 }, true],
    ] as const) {
      const { made } = await make({ trigger }, { wanted });
      assert.deepEqual(made, [['d1', trigger, TOKEN, 0, false, isWanted]]);
    }
  });

  it('of a previous version counts the attempts before its request by the time in its token', async () => {
    const isMade = async (laterMs: number) => {
      const delivery = {
        ...deliveryOf('d1'),
        status: 'succeeded' as const,
        attempts_count: 1,
        updated_at: new Date(REQUESTED + laterMs),
      };
      return (await make({ attempts: undefined }, { delivery })).made.length === 1;
    };
    assert.ok(await isMade(0), 'it succeeded before the request');
    assert.ok(!(await isMade(1)), 'it has succeeded since');
  });

  it('is not made without a payload, which the reason of a manual one says', async () => {
    const delivery = { ...deliveryOf('d1'), body: null };
    const unsent = ['unsent', 'cancelled'];
    const unmade = ['unmade', 'd1', 'the payload was deleted after its retention period'];
    assert.deepEqual(await make({}, { delivery }), { made: [], written: [unsent, unmade] });
    assert.deepEqual(await make({ trigger: 'test' }, { delivery }), { made: [], written: [unsent] });
  });
});
