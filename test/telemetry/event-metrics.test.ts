import assert from 'node:assert/strict';
import * as metrics from '../../src/telemetry/event-metrics.ts';
import { createRegistry } from '../../src/telemetry/registry.ts';
import { samplesOf, valueOf } from './observed.ts';

describe('the metrics of events', () => {
  const registry = createRegistry();
  /** Returns the change of a series while something happens. */
  async function changeOf(
    name: string,
    labels: Record<string, string>,
    happens: () => void,
  ): Promise<number> {
    const read = async () => valueOf(samplesOf(await registry.text()), name, labels) ?? 0;
    const before = await read();
    happens();
    return Math.round(((await read()) - before) * 1e6) / 1e6;
  }

  it('count requests by method, route and status, with their time in seconds', async () => {
    const { onRequest, onEvents } = metrics.createRequestMetrics(registry);
    const labels = { method: 'GET', route: '/api/v1/me', status: '200' };
    const request = { method: 'GET', route: '/api/v1/me', status: 200, seconds: 0.25 };
    assert.equal(await changeOf('baton_http_requests_total', labels, () => onRequest(request)), 1);
    const { status: _, ...route } = labels;
    assert.equal(
      await changeOf('baton_http_request_duration_seconds_sum', route, () => onRequest(request)),
      0.25,
    );
    const invented = { method: 'other', route: 'none', status: '404' };
    const odd = { method: 'BREW', route: null, status: 404, seconds: 0 };
    assert.equal(await changeOf('baton_http_requests_total', invented, () => onRequest(odd)), 1);
    const sent = () => onEvents({ sent: 5, duplicate: 2 });
    assert.equal(await changeOf('baton_events_received_total', { duplicate: 'false' }, sent), 3);
    assert.equal(await changeOf('baton_events_received_total', { duplicate: 'true' }, sent), 2);
  });

  it('count changes of runs, and steps with their time in seconds', async () => {
    const { onRecorded } = metrics.createRunMetrics(registry, ['planning', 'running']);
    const step = { agent: 'developer' };
    const entries = [
      { type: 'state.changed', data: { to: 'running' } },
      { type: 'step.completed', data: { step, duration_ms: 1_500 } },
      { type: 'step.failed', data: { step, duration_ms: 9_000 } },
      { type: 'step.started', data: { step } },
    ];
    const recorded = () => onRecorded({ entries });
    assert.equal(await changeOf('baton_task_transitions_total', { state: 'running' }, recorded), 1);
    assert.equal(await changeOf('baton_steps_total', { ...step, outcome: 'completed' }, recorded), 1);
    assert.equal(await changeOf('baton_steps_total', { ...step, outcome: 'failed' }, recorded), 1);
    assert.equal(await changeOf('baton_step_duration_seconds_sum', step, recorded), 1.5);
  });

  it('count attempts of callbacks, with their time in seconds', async () => {
    const { onCallbackAttempt } = metrics.createCallbackMetrics(registry);
    const labels = { outcome: 'failed', failure: 'timeout' };
    const attempted = () => onCallbackAttempt({ ...labels, outcome: 'failed', duration_ms: 2_500 });
    assert.equal(await changeOf('baton_callback_attempts_total', labels, attempted), 1);
    assert.equal(await changeOf('baton_callback_attempt_duration_seconds_sum', {}, attempted), 2.5);
  });

  it('count calls of models, their tokens, costs and time in seconds, and calls of tools', async () => {
    const { onModelCall, onToolCall } = metrics.createAgentMetrics(registry);
    const usage = { input_tokens: 40, output_tokens: 2, cost_usd: 0.5 };
    const answered = () => onModelCall({ model: 'm', usage, duration_ms: 750 });
    const failed = () => onModelCall({ model: 'm', usage: null, duration_ms: 750 });
    const calls = (outcome: string) => ['baton_model_calls_total', { model: 'm', outcome }] as const;
    assert.equal(await changeOf(...calls('answered'), answered), 1);
    assert.equal(await changeOf(...calls('answered'), failed), 0);
    assert.equal(await changeOf(...calls('failed'), failed), 1);
    assert.equal(await changeOf('baton_model_call_duration_seconds_sum', { model: 'm' }, failed), 0.75);
    const tokens = (direction: string) => ['baton_model_tokens_total', { model: 'm', direction }] as const;
    assert.equal(await changeOf(...tokens('input'), answered), 40);
    assert.equal(await changeOf(...tokens('output'), answered), 2);
    assert.equal(await changeOf('baton_model_cost_usd_total', { model: 'm' }, answered), 0.5);
    for (const [outcome, isFailed] of [
      ['failed', true],
      ['answered', false],
    ] as const) {
      const called = () => onToolCall({ failed: isFailed });
      assert.equal(await changeOf('baton_tool_calls_total', { outcome }, called), 1);
    }
  });

  it('count attempts of deliveries, and the seconds from the event to its first attempt', async () => {
    const { onDeliveryAttempt, onDisabled } = metrics.createDeliveryMetrics(registry);
    const accepted = Date.parse('2026-01-31T12:00:00.000Z');
    const hex = accepted.toString(16).padStart(12, '0');
    const attempt = {
      delivery_id: `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`,
      trigger: 'automatic',
      succeeded: false,
      failure: 'status',
      response_ms: 200,
      attempted_at: new Date(accepted + 1_250).toISOString(),
      number: 1,
    };
    const attempted =
      (members = {}) =>
      () =>
        onDeliveryAttempt({ ...attempt, ...members });
    const labels = { trigger: 'automatic', outcome: 'failed', failure: 'status' };
    assert.equal(await changeOf('baton_delivery_attempts_total', labels, attempted()), 1);
    const failedIn = ['baton_delivery_attempt_duration_seconds_sum', { outcome: 'failed' }] as const;
    assert.equal(await changeOf(...failedIn, attempted()), 0.2);
    assert.equal(await changeOf('baton_delivery_lag_seconds_sum', {}, attempted()), 1.25);
    for (const later of [{ number: 2 }, { trigger: 'manual' }])
      assert.equal(await changeOf('baton_delivery_lag_seconds_count', {}, attempted(later)), 0);
    const early = attempted({ attempted_at: new Date(accepted - 5_000).toISOString() });
    assert.equal(await changeOf('baton_delivery_lag_seconds_sum', {}, early), 0, 'clocks may differ');
    assert.equal(await changeOf('baton_webhooks_disabled_total', {}, onDisabled), 1);
  });
});
