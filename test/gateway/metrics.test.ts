import assert from 'node:assert/strict';
import { createMetricsRecorder } from '../../src/gateway/metrics.ts';

const NO_ROOMS = { workflow: 0, webhook: 0 };

describe('the metrics of the live channel', () => {
  it('average the rate of events over the last ten whole seconds', () => {
    let second = 100;
    const metrics = createMetricsRecorder(() => new Date(second * 1_000 + 500));
    const rate = () => metrics.read(NO_ROOMS).events_per_second;
    metrics.sent(30);
    assert.equal(rate(), 0, 'the current second is not over');
    second = 101;
    metrics.sent(20);
    assert.equal(rate(), 3);
    second = 110;
    assert.equal(rate(), 5);
    second = 111;
    assert.equal(rate(), 2);
    second = 112;
    assert.equal(rate(), 0);
    assert.equal(metrics.read(NO_ROOMS).events_sent, 50);
  });

  it('keep the rate when old seconds are dropped', () => {
    let second = 0;
    const metrics = createMetricsRecorder(() => new Date(second * 1_000));
    for (; second < 30; second += 1) metrics.sent(10);
    assert.equal(metrics.read(NO_ROOMS).events_per_second, 10);
  });

  it('have the percentiles of the last lags', () => {
    const metrics = createMetricsRecorder(() => new Date(0));
    assert.deepEqual(metrics.read(NO_ROOMS).lag_ms, { p50: null, p95: null, max: null });
    for (const early of [5_000, 4_000]) metrics.lagged(early);
    for (let lag = 2_048; lag >= 1; lag -= 1) metrics.lagged(lag);
    assert.deepEqual(metrics.read(NO_ROOMS).lag_ms, { p50: 1_024, p95: 1_946, max: 2_048 });
  });

  it('forget lags after five minutes', () => {
    let second = 0;
    const metrics = createMetricsRecorder(() => new Date(second * 1_000));
    const lags = () => metrics.read(NO_ROOMS).lag_ms;
    metrics.lagged(9_000);
    second = 200;
    metrics.lagged(5);
    assert.equal(lags().max, 9_000);
    second = 301;
    assert.deepEqual(lags(), { p50: 5, p95: 5, max: 5 });
    second = 501;
    assert.deepEqual(lags(), { p50: null, p95: null, max: null });
  });

  it('count closed connections by reason', () => {
    const metrics = createMetricsRecorder(() => new Date(0));
    for (const code of ['slow_reader', 'token_expired', 'slow_reader'] as const) metrics.dropped(code);
    assert.deepEqual(metrics.read(NO_ROOMS).dropped, { slow_reader: 2, token_expired: 1 });
  });
});
