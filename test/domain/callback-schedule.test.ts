import assert from 'node:assert/strict';
import { callbackBody, callbackStatusOf, triggerOf } from '../../src/domain/tasks/callback.ts';
import {
  hasBegunLast,
  timeUntilDue,
  verdictOfAttempt,
  type CallbackProgress,
  type CallbackVerdict,
} from '../../src/domain/tasks/callback-schedule.ts';
import { initialView } from '../../src/domain/tasks/task-run.ts';

const AT = new Date('2026-01-31T12:00:00.000Z');
const after = (ms: number) => new Date(AT.getTime() + ms);

describe('an attempt of a callback', () => {
  const rows: [
    what: string,
    number: number,
    retryId: string | null,
    isSuccess: boolean,
    verdict: CallbackVerdict,
  ][] = [
    [
      'that succeeds ends the callback',
      1,
      null,
      true,
      { finalStatus: 'delivered', waitMs: null, nextAttemptAt: null },
    ],
    [
      'that fails first is repeated after 1 s',
      1,
      null,
      false,
      { finalStatus: null, waitMs: 1_000, nextAttemptAt: after(1_000) },
    ],
    [
      'that fails second is repeated after 4 s',
      2,
      null,
      false,
      { finalStatus: null, waitMs: 4_000, nextAttemptAt: after(4_000) },
    ],
    [
      'that fails third is the last one',
      3,
      null,
      false,
      { finalStatus: 'failed', waitMs: null, nextAttemptAt: null },
    ],
    [
      'for a manual retry is not repeated',
      1,
      'retry-1',
      false,
      { finalStatus: 'failed', waitMs: null, nextAttemptAt: null },
    ],
    [
      'for a manual retry delivers the callback if it succeeds',
      5,
      'retry-1',
      true,
      { finalStatus: 'delivered', waitMs: null, nextAttemptAt: null },
    ],
  ];
  for (const [what, number, retryId, isSuccess, verdict] of rows) {
    it(what, () => assert.deepEqual(verdictOfAttempt({ number, retryId }, isSuccess, AT), verdict));
  }
});

describe('a pending callback', () => {
  const last = (endedAt: Date | null): CallbackProgress['last'] => ({
    attemptedAt: AT,
    endedAt,
    nextAttemptAt: null,
  });

  it('has begun its last attempt after three of the schedule', () => {
    const has = (attempts: number) => hasBegunLast({ retryId: null, attempts, last: last(AT) });
    assert.deepEqual([0, 1, 2, 3, 4].map(has), [false, false, false, true, true]);
  });

  it('has begun the attempt of a manual retry if the last attempt has no end', () => {
    const has = (of: CallbackProgress['last']) => hasBegunLast({ retryId: 'r', attempts: 3, last: of });
    assert.deepEqual([has(last(null)), has(last(AT)), has(null)], [true, false, false]);
  });

  it('is due at once before its first attempt', () => {
    assert.equal(timeUntilDue({ last: null }, AT.getTime()), 0);
  });

  it('is due at the time of its next attempt', () => {
    const due = (ms: number) =>
      timeUntilDue(
        { last: { attemptedAt: AT, endedAt: AT, nextAttemptAt: after(4_000) } },
        after(ms).getTime(),
      );
    assert.deepEqual([due(0), due(3_900), due(4_000), due(5_000)], [4_000, 100, 0, -1_000]);
  });

  it('waits for an attempt without an end for 12 s, after which it is over', () => {
    const due = (ms: number) => timeUntilDue({ last: last(null) }, after(ms).getTime());
    assert.deepEqual([due(0), due(12_000), due(12_001)], [null, null, 0]);
  });
});

describe('the status of a callback', () => {
  it('is pending again during a manual retry', () => {
    assert.equal(callbackStatusOf({ callback_status: 'failed', callback_retry_id: 'r' }), 'pending');
    assert.equal(callbackStatusOf({ callback_status: 'failed', callback_retry_id: null }), 'failed');
    assert.equal(callbackStatusOf({ callback_status: 'delivered' }), 'delivered');
  });

  it('has attempts by the schedule, and by a request', () => {
    assert.deepEqual([triggerOf(null), triggerOf('r')], ['automatic', 'manual']);
  });
});

describe('the body of a callback', () => {
  it('has the result of the run in a fixed order', () => {
    const view = {
      ...initialView(),
      state: 'completed' as const,
      duration_ms: 70,
      started_at: '2026-01-31T11:59:59.930Z',
      completed_at: '2026-01-31T12:00:00.000Z',
      output: { summary: 'done' },
    };
    assert.equal(
      callbackBody('run-1', view),
      '{"execution_id":"run-1","status":"completed","duration_ms":70,"started_at":"2026-01-31T11:59:59.930Z",' +
        '"completed_at":"2026-01-31T12:00:00.000Z","output":{"summary":"done"},"errors":[]}',
    );
  });

  it('has an empty output and no duration if the run ended without them', () => {
    const { output, duration_ms: duration } = JSON.parse(callbackBody('run-1', initialView()));
    assert.deepEqual([output, duration], [{}, 0]);
  });
});
