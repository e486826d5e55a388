import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { MockActivityEnvironment } from '@temporalio/testing';
import type { Attempt, AttemptOutcome } from '../../src/activities/deliveries/attempts.ts';
import { createManualRetryActivities } from '../../src/activities/deliveries/manual-retries.ts';
import { createRetryActivities } from '../../src/activities/deliveries/retries.ts';
import type { RecordedResult } from '../../src/database/webhooks/delivery-results.ts';
import type { DeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import type { DeliveryToSend } from '../../src/database/webhooks/dispatch.ts';

const engineTime = async () => Date.now();

function deliveryOf(id: string): DeliveryToSend {
  return {
    id,
    webhook_id: 'w1',
    workspace_id: 'a workspace',
    event: 'issue.created',
    timestamp: new Date(),
    body: '{}',
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
    { width = 1, environment = new MockActivityEnvironment() } = {},
  ) {
    const left = new Set(ids);
    const made: string[] = [];
    const store = {
      listBacklog: async (_id: string, limit: number) => [...left].slice(0, limit).map(deliveryOf),
    } as Partial<DeliveryStore> as DeliveryStore;
    const attemptOf: Attempt = async ({ id }) => {
      made.push(id);
      const outcome = attempt(id, made.length - 1);
      if (outcome.kind !== 'no_room') left.delete(id);
      return outcome;
    };
    const { drainBacklog } = createRetryActivities({ store, attempt: attemptOf, engineTime });
    const round = await run(environment, drainBacklog, { webhookId: 'w1', width });
    return { round, made };
  }

  it('sends all, and says whether the last attempt succeeded', async () => {
    const { round, made } = await drain(['a', 'b'], () => recorded('succeeded'));
    assert.deepEqual(made, ['a', 'b']);
    assert.deepEqual(round, { isMore: false, isWell: true, isCrowded: false });
    const failed = await drain(['a', 'b'], (_id, index) => recorded(index === 0 ? 'succeeded' : 'retrying'));
    assert.deepEqual(failed.round, { isMore: false, isWell: false, isCrowded: false });
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
