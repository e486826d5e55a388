import assert from 'node:assert/strict';
import {
  countAttemptsAtRequest,
  isSettled,
  isStillDue,
  isTestSettled,
  type PlannedFor,
} from '../../src/domain/webhooks/attempt-conditions.ts';
import { DELIVERY_STATUSES } from '../../src/domain/webhooks/delivery.ts';

const PLANNED: PlannedFor = { status: 'retrying', generation: 1, failures: 2, in_backlog: false };

describe('an automatic attempt', () => {
  it('is due while its delivery is as planned', () => {
    assert.equal(isStillDue(PLANNED, { ...PLANNED, attempts_count: 5 }), true);
  });

  const changes: [what: string, change: Partial<PlannedFor>][] = [
    ['succeeded', { status: 'succeeded' }],
    ['was held', { status: 'held' }],
    ['restarted its schedule', { generation: 2 }],
    ['failed in another attempt', { failures: 3 }],
    ['moved to the backlog', { in_backlog: true }],
  ];
  for (const [what, change] of changes) {
    it(`is not due after its delivery ${what}`, () => {
      assert.equal(isStillDue(PLANNED, { ...PLANNED, ...change, attempts_count: 2 }), false);
    });
  }
});

describe('an attempt outside the schedule', () => {
  it('is settled if its delivery was cancelled', () => {
    assert.equal(isSettled({ status: 'cancelled', attempts_count: 0 }, 0), true);
  });

  it('is settled if its delivery has succeeded since the request', () => {
    assert.equal(isSettled({ status: 'succeeded', attempts_count: 3 }, 2), true);
    assert.equal(isSettled({ status: 'succeeded', attempts_count: 2 }, 2), false, 'it had succeeded before');
  });

  it('is not settled in any other status', () => {
    const others = DELIVERY_STATUSES.filter((status) => status !== 'cancelled' && status !== 'succeeded');
    for (const status of others) assert.equal(isSettled({ status, attempts_count: 3 }, 2), false, status);
  });

  it('counts the attempts at the time in its token if the request does not say them', () => {
    const token = '019c13eb-b3a0-7000-8000-000000000000';
    const requestedAt = Date.parse('2026-01-31T11:59:00.000Z');
    assert.equal(countAttemptsAtRequest(3, new Date(requestedAt), token), 3);
    assert.equal(countAttemptsAtRequest(3, new Date(requestedAt + 1), token), 2, 'one was recorded since');
  });
});

describe('the attempt of a test', () => {
  it('is settled if the test was cancelled', () => {
    assert.equal(isTestSettled({ status: 'cancelled', attempts_count: 0 }, 0), true);
  });

  it('is settled once it is recorded, also if it failed', () => {
    assert.equal(isTestSettled({ status: 'pending', attempts_count: 0 }, 0), false);
    assert.equal(isTestSettled({ status: 'succeeded', attempts_count: 1 }, 0), true);
    assert.equal(isTestSettled({ status: 'failed', attempts_count: 1 }, 0), true);
  });
});
