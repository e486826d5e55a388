import assert from 'node:assert/strict';
import { createCircuitBreaker } from '../../src/domain/common/circuit-breaker.ts';

const LATE = new Error('late');
const WRONG = new Error('wrong');

describe('a circuit breaker', () => {
  let now = 0;
  const open = () =>
    createCircuitBreaker(
      2_000,
      (error) => error === LATE,
      () => now,
    );
  beforeEach(() => (now = 0));

  const answer = async () => 'answer';
  const fail = (error: Error) => async () => {
    throw error;
  };
  /** A call that ends when it is told to. */
  const pending = () => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    return { work: () => promise, resolve, reject };
  };

  it('makes every call while none is late', async () => {
    const breaker = open();
    const [first, second] = [pending(), pending()];
    const calls = [breaker.call(first.work), breaker.call(second.work)];
    second.resolve('second');
    first.resolve('first');
    assert.deepEqual(await Promise.all(calls), ['first', 'second']);
    await assert.rejects(breaker.call(fail(WRONG)), WRONG);
    assert.equal(await breaker.call(answer), 'answer');
  });

  it('makes none for a while after a late one', async () => {
    const breaker = open();
    await assert.rejects(breaker.call(fail(LATE)), LATE);
    now = 1_999;
    assert.equal(await breaker.call(() => assert.fail('it must not be made')), null);
    now = 2_000;
    assert.equal(await breaker.call(answer), 'answer');
    assert.equal(await breaker.call(answer), 'answer');
  });

  it('then tries one at a time, until one is not late', async () => {
    const breaker = open();
    await assert.rejects(breaker.call(fail(LATE)), LATE);
    now = 2_000;
    const trial = pending();
    const tried = breaker.call(trial.work);
    now = 9_000;
    assert.equal(await breaker.call(answer), null);
    trial.reject(LATE);
    await assert.rejects(tried, LATE);
    now = 10_999;
    assert.equal(await breaker.call(answer), null);
    now = 11_000;
    await assert.rejects(breaker.call(fail(WRONG)), WRONG);
    assert.equal(
      await breaker.call(answer),
      'answer',
      'a call that fails in time shows that the service answers',
    );
  });

  it('keeps resting when a call succeeds that began before the late one', async () => {
    const breaker = open();
    const early = pending();
    const called = breaker.call(early.work);
    await assert.rejects(breaker.call(fail(LATE)), LATE);
    early.resolve('early');
    assert.equal(await called, 'early');
    assert.equal(await breaker.call(answer), null);
  });

  it('rests again after each late call, also of those that began before', async () => {
    const breaker = open();
    const slow = pending();
    const called = breaker.call(slow.work);
    await assert.rejects(breaker.call(fail(LATE)), LATE);
    now = 1_000;
    slow.reject(LATE);
    await assert.rejects(called, LATE);
    now = 2_999;
    assert.equal(await breaker.call(answer), null);
    now = 3_000;
    assert.equal(await breaker.call(answer), 'answer');
  });
});
