import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import * as fc from 'fast-check';
import { findUnexplained, type Model, type Operation } from '../../faults/linearizability.ts';
import {
  beginAttempt,
  endAttempt,
  giveUpCallback,
  listCallbackAttempts,
  requestCallbackRetry,
  withdrawAttempt,
} from '../../src/database/tasks/callbacks.ts';
import { listEventsAfter } from '../../src/database/tasks/feed.ts';
import { findRun } from '../../src/database/tasks/task-runs.ts';
import { storeEndedRun } from '../support/ended-run.ts';
import { useInstallation } from '../support/installation.ts';
import { holdsAsync } from './property.ts';

const URL = 'https://receiver.example.com/';
const STORIES = 40;

/** The operations of senders of a callback, with their results. `read` returns everything that is stored. */
type Input =
  | { kind: 'begin'; id: string; retryId: string | null; earlier: number; number: number | null }
  | { kind: 'end'; id: string; status: 'delivered' | 'failed' | null }
  | { kind: 'withdraw'; id: string }
  | { kind: 'give up'; retryId: string | null }
  | { kind: 'request'; retryId: string; accepted: boolean }
  | { kind: 'read'; stored: string };

/** `open`: its end is not recorded. */
type Attempt = { id: string; isManual: boolean; end: 'open' | 'interrupted' | 'ended' };
type Log = { status: string; retryId: string | null; events: number; attempts: readonly Attempt[] };

/** The log of a callback, in which one thing happens at a time. */
const LOG: Model<Log, Input> = {
  initial: { status: 'pending', retryId: null, events: 0, attempts: [] },
  keyOf: textOf,
  next(log, input) {
    switch (input.kind) {
      case 'begin': {
        const begun = begin(log, input);
        return (begun?.attempts.length ?? null) === input.number ? [begun ?? log] : [];
      }
      case 'end':
        return [end(log, input)];
      case 'withdraw':
        return [
          {
            ...log,
            attempts: log.attempts.filter(({ id, end: how }) => id !== input.id || how !== 'open'),
          },
        ];
      case 'give up': {
        if (!isAwaited(log, input.retryId)) return [log];
        return [
          { status: 'failed', retryId: null, events: log.events + 1, attempts: interrupted(log.attempts) },
        ];
      }
      case 'request': {
        const isAllowed = log.status === 'failed' && log.retryId === null;
        if (isAllowed !== input.accepted) return [];
        return [isAllowed ? { ...log, retryId: input.retryId } : log];
      }
      case 'read':
        return textOf(log) === input.stored ? [log] : [];
    }
  },
};

function textOf({ status, retryId, events, attempts }: Log): string {
  return JSON.stringify([status, retryId, events, attempts.map((one) => [one.id, one.isManual, one.end])]);
}

function isAwaited({ status, retryId }: Log, requested: string | null): boolean {
  return requested === null ? status === 'pending' : retryId === requested;
}

function interrupted(attempts: readonly Attempt[]): Attempt[] {
  return attempts.map((one) => (one.end === 'open' ? { ...one, end: 'interrupted' } : one));
}

function begin(log: Log, { id, retryId, earlier }: Input & { kind: 'begin' }): Log | null {
  if (!isAwaited(log, retryId) || log.attempts.length !== earlier) return null;
  const begun = { id, isManual: retryId !== null, end: 'open' as const };
  return { ...log, attempts: [...interrupted(log.attempts), begun] };
}

function end(log: Log, { id, status }: Input & { kind: 'end' }): Log {
  const ended = log.attempts.find((one) => one.id === id);
  if (ended?.end !== 'open') return log;
  const decides = log.status === 'pending' || ended.isManual;
  return {
    status: decides ? (status ?? log.status) : log.status,
    retryId: ended.isManual ? null : log.retryId,
    events: log.events + 1,
    attempts: log.attempts.map((one) => (one === ended ? { ...one, end: 'ended' } : one)),
  };
}

/** `which`: an attempt, counted from the newest one. `behind`: how many attempts the sender does not know of. */
const action = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('begin' as const),
      behind: fc.constantFrom(0, 0, 0, 1),
      isManual: fc.boolean(),
    }),
  },
  {
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      which: fc.constantFrom(0, 0, 1),
      status: fc.constantFrom('delivered' as const, 'failed' as const, null),
    }),
    weight: 4,
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('withdraw' as const), which: fc.constantFrom(0, 0, 1) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('give up' as const), isManual: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('request' as const) }) },
);
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

describe('the log of a callback, for random stories of simultaneous senders', () => {
  const fresh = useInstallation({ poolSize: 4 });

  it('is always as if one thing had happened after the other', async () => {
    const rounds = fc.array(fc.array(action, { minLength: 1, maxLength: 3 }), {
      minLength: 3,
      maxLength: 14,
    });
    await holdsAsync(
      [rounds],
      async (story) => {
        const { history, play } = await createLog();
        for (const round of story) await play(round);
        const unexplained = findUnexplained(history, LOG);
        assert.deepEqual(unexplained?.map(({ input }) => input) ?? null, null);
      },
      STORIES,
    );
  });

  async function createLog() {
    const { database, installation } = fresh;
    const executionId = await storeEndedRun(fresh, URL);
    const firstSeq = (await findRun(database, executionId))?.last_seq ?? 0;
    const history: Operation<Input>[] = [];
    const ids: string[] = [];
    let retryId: string | null = null;

    /** Does something and records what its sender was told. */
    async function observe(work: () => Promise<Input>): Promise<void> {
      const calledAt = performance.now();
      const input = await work();
      history.push({ input, calledAt, returnedAt: performance.now(), isCertain: true });
    }

    const perform = async (one: Action, known: number): Promise<Input> => {
      const target = 'which' in one ? (ids.at(-1 - one.which) ?? randomUUIDv7()) : '';
      const forRetry = 'isManual' in one && one.isManual ? retryId : null;
      switch (one.kind) {
        case 'begin': {
          const id = randomUUIDv7();
          const earlier = Math.max(0, known - one.behind);
          const attempt = { id, execution_id: executionId, url: URL, attempted_at: new Date() };
          const request = { request_headers: {}, request_body: '{}' };
          const number = await beginAttempt(database, { ...attempt, ...request, retryId: forRetry }, earlier);
          if (number !== null) ids.push(id);
          return { kind: 'begin', id, retryId: forRetry, earlier, number };
        }
        case 'end':
          await endAttempt(database, { id: target, executionId, ...ENDED(target) }, one.status);
          return { kind: 'end', id: target, status: one.status };
        case 'withdraw':
          await withdrawAttempt(database, { id: target, executionId });
          return { kind: 'withdraw', id: target };
        case 'give up':
          await giveUpCallback(database, executionId, new Date(), forRetry);
          return { kind: 'give up', retryId: forRetry };
        case 'request': {
          const id = randomUUIDv7();
          const { workspace_id: workspaceId } = installation;
          const request = { executionId, retryId: id, workspaceId, actor: 'key:test', now: new Date() };
          const accepted = await requestCallbackRetry(database, request);
          if (accepted) retryId = id;
          return { kind: 'request', retryId: id, accepted };
        }
      }
    };

    /** Returns everything that is stored. `seq` has no gaps. */
    const read = async (): Promise<Input> => {
      const row = (await findRun(database, executionId)) ?? assert.fail();
      const events = await listEventsAfter(database, executionId, firstSeq, 1_000);
      assert.deepEqual(
        events.map(({ seq }) => seq),
        events.map((_, index) => firstSeq + 1 + index),
      );
      assert.equal(row.last_seq, firstSeq + events.length);
      const attempts = (await listCallbackAttempts(database, executionId)).map((one, index) => {
        assert.equal(one.attempt, index + 1);
        const how = one.failure === 'interrupted' ? 'interrupted' : one.completed_at ? 'ended' : 'open';
        return { id: one.id, isManual: one.trigger === 'manual', end: how } as const;
      });
      const { callback_status: status, callback_retry_id: retry = null } = row;
      const log = { status, retryId: retry, events: events.length, attempts };
      return { kind: 'read', stored: textOf(log) };
    };

    async function play(round: readonly Action[]): Promise<void> {
      const known = (await listCallbackAttempts(database, executionId)).length;
      await Promise.all(round.map((one) => observe(() => perform(one, known))));
      await observe(read);
    }
    return { history, play };
  }
});

const ENDED = (id: string) => ({
  ended: {
    response_status: 500,
    response_headers: {},
    response_body: '',
    failure: 'status',
    message: null,
    address: '192.0.2.1',
    duration_ms: 3,
    completed_at: new Date(),
    next_attempt_at: null,
    reconnected: false,
  },
  entry: {
    key: `callback.attempted:${id}`,
    type: 'callback.attempted' as const,
    at: new Date().toISOString(),
    data: {},
  },
});
