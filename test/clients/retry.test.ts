import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { mock } from 'node:test';
import { createCredentials, lifetimeOf } from '../../clients/typescript/src/credentials.ts';
import { BatonProblem, BatonUnreachable, parseRetryAfter } from '../../clients/typescript/src/problem.ts';
import { createRetryWindow } from '../../clients/typescript/src/retry-window.ts';
import { backoff, retryDelay } from '../../clients/typescript/src/retry.ts';
import { pause, startTimeout } from '../../clients/typescript/src/time.ts';

const unreachable = new BatonUnreachable('no response');
const problem = (status: number, code = 'unavailable', retryAfter?: number) =>
  new BatonProblem(
    new Response(null, {
      status,
      ...(retryAfter === undefined ? {} : { headers: { 'Retry-After': `${retryAfter}` } }),
    }),
    { code, detail: 'It failed.' },
  );

describe('the delay before a request of the client package is repeated', () => {
  const delay = (error: unknown, isRepeatable = true) =>
    retryDelay(error, { failures: 1, isRepeatable, random: () => 0 });

  it('doubles with each failure, up to 8 s, of which the half is random', () => {
    const delays = [1, 2, 3, 6, 7, 50].map((failures) => [
      backoff(failures, () => 0),
      backoff(failures, () => 1),
    ]);
    assert.deepEqual(delays, [
      [125, 250],
      [250, 500],
      [500, 1_000],
      [4_000, 8_000],
      [4_000, 8_000],
      [4_000, 8_000],
    ]);
  });

  it('exists only for failures that may pass', () => {
    for (const error of [unreachable, problem(502), problem(503), problem(504), problem(429)])
      assert.equal(delay(error), 125);
    for (const error of [problem(400), problem(401), problem(500), problem(501), problem(409, 'conflict')])
      assert.equal(delay(error), null);
    assert.equal(delay(new Error('a defect')), null);
  });

  it('exists for a request that may have had an effect only if the service did not process it', () => {
    for (const error of [unreachable, problem(502), problem(503, 'unavailable', 1)])
      assert.equal(delay(error, false), null);
    assert.equal(delay(problem(429, 'rate_limited', 2), false), 2_000);
    assert.equal(delay(problem(409, 'conflict', 1), false), 1_000);
    assert.equal(delay(problem(409, 'invalid_state', 1), false), null);
  });

  it('is at least that of the service, up to a minute', () => {
    assert.equal(delay(problem(503, 'unavailable', 60)), 60_000);
    assert.equal(delay(problem(503, 'unavailable', 61)), null);
    assert.equal(delay(problem(503, 'unavailable', 0)), 125);
  });

  it('is read from seconds or a date', () => {
    const now = Date.parse('2026-01-31T12:00:00Z');
    const values = [
      '5',
      ' 5 ',
      'Sat, 31 Jan 2026 12:00:03 GMT',
      'Sat, 31 Jan 2026 11:00:00 GMT',
      'soon',
      null,
    ];
    assert.deepEqual(
      values.map((value) => parseRetryAfter(value, now)),
      [5_000, 5_000, 3_000, 0, null, null],
    );
  });
});

describe('the time that the client package waits for an unreachable service', () => {
  beforeEach(() => mock.timers.enable({ apis: ['Date', 'setTimeout'] }));
  afterEach(() => mock.timers.reset());

  it('is a minute from the first failure, and starts again after a response', () => {
    const window = createRetryWindow(() => 0);
    assert.equal(window.delayAfter(unreachable), 125);
    mock.timers.tick(59_999);
    assert.equal(window.delayAfter(problem(500)), 250);
    window.reset();
    mock.timers.tick(30_000);
    assert.equal(window.delayAfter(unreachable), 125);
    mock.timers.tick(59_999);
    window.delayAfter(unreachable);
    mock.timers.tick(1);
    assert.throws(() => window.delayAfter(unreachable), unreachable);
  });

  it('is none for a refusal', () => {
    const window = createRetryWindow(() => 0);
    const refused = problem(404, 'not_found');
    assert.throws(() => window.delayAfter(refused), refused);
  });

  it('ends early with its signal, at which it leaves nothing', async () => {
    const gone = new AbortController();
    const whole = pause(1_000, gone.signal);
    mock.timers.tick(1_000);
    await whole;
    assert.deepEqual(getEventListeners(gone.signal, 'abort'), []);
    const short = pause(1_000, gone.signal);
    gone.abort(new Error('it stopped'));
    await assert.rejects(short, /it stopped/);
    await assert.rejects(pause(1_000, gone.signal), /it stopped/);
  });
});

describe('the time limit of a request of the client package', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  it('starts again when data arrives, and ends with the request', () => {
    const outer = new AbortController();
    const timeout = startTimeout(1_000, outer.signal);
    mock.timers.tick(999);
    timeout.restart(500);
    mock.timers.tick(499);
    assert.ok(!timeout.signal.aborted);
    timeout.release();
    mock.timers.tick(10_000);
    assert.ok(!timeout.signal.aborted);
    assert.deepEqual(getEventListeners(outer.signal, 'abort'), []);
  });

  it('aborts the request, and so does its caller', () => {
    const timeout = startTimeout(1_000);
    mock.timers.tick(1_000);
    assert.equal(timeout.signal.reason.name, 'TimeoutError');
    const outer = new AbortController();
    const other = startTimeout(1_000, outer.signal);
    outer.abort('stop');
    assert.equal(other.signal.reason, 'stop');
    other.release();
    const late = startTimeout(1_000, outer.signal);
    assert.equal(late.signal.reason, 'stop');
    late.release();
  });
});

describe('the token of the client package', () => {
  const NOW = Date.parse('2026-01-31T12:00:00Z');
  const tokenFor = (seconds: { from: number; until: number }, id = '') => {
    const claims = { iat: NOW / 1_000 + seconds.from, exp: NOW / 1_000 + seconds.until, id };
    return `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;
  };

  it('is used for two thirds of its life', async () => {
    let now = NOW;
    let made = 0;
    const source = () =>
      tokenFor({ from: (now - NOW) / 1_000, until: (now - NOW) / 1_000 + 900 }, `${(made += 1)}`);
    const credentials = createCredentials({ token: source }, () => now);
    const first = await credentials.headers();
    now += 599_999;
    assert.equal(await credentials.headers(), first);
    now += 1;
    const second = await credentials.headers();
    assert.notDeepEqual(second, first);
    assert.equal(await credentials.headers(), second);
    assert.equal(made, 2);
    assert.ok(credentials.discard(first));
    assert.equal(await credentials.headers(), second, 'another one was rejected');
    credentials.discard(second);
    assert.notDeepEqual(await credentials.headers(), second);
  });

  it('has the life of its claims, or all of it if the local clock contradicts them', () => {
    assert.equal(lifetimeOf(tokenFor({ from: -60, until: 840 }), NOW), 840_000);
    assert.equal(lifetimeOf(tokenFor({ from: -3_600, until: -2_700 }), NOW), 900_000);
    assert.equal(lifetimeOf(tokenFor({ from: 3_600, until: 4_500 }), NOW), 900_000);
    assert.equal(lifetimeOf('opaque', NOW), null);
  });

  it('cannot be replaced if it is fixed', () => {
    assert.equal(createCredentials({ token: 'fixed' }).discard({}), false);
    assert.equal(createCredentials({ apiKey: 'bt_x' }).discard({}), false);
  });
});
