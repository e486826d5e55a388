import assert from 'node:assert/strict';
import { post, type Post, type PostDependencies } from '../../src/activities/deliveries/post.ts';
import type { WebhookTarget } from '../../src/database/webhooks/webhook-targets.ts';
import { toStoredHeaders } from '../../src/domain/webhooks/stored-attempt.ts';
import type { AttemptRecord } from '../../src/outbound/attempt-record.ts';
import { OutboundFailure } from '../../src/outbound/failure.ts';
import { signature } from '../../src/outbound/sign.ts';

const BEGUN = new Date('2026-01-31T12:00:00.000Z');
const ENDED = new Date('2026-01-31T12:00:01.000Z');
const EVENT_AT = new Date('2026-01-31T11:00:00.000Z');
const BODY = Buffer.from('{"id":"evt_1"}');
const WEBHOOK: WebhookTarget = {
  id: 'w1',
  workspace_id: 'another workspace',
  url: 'https://example.com/hook',
  events: [],
  secret: 'sealed',
  previous_secret: 'sealed before',
  previous_secret_until: new Date(BEGUN.getTime() + 1),
  include_secret_header: true,
  standard_webhooks: false,
  active: true,
  consecutive_failures: 4,
  enabled_count: 5,
  disabled_at: null,
  deleted_at: null,
  listening_until: null,
};
const DELIVERY: Post = {
  id: 'd1',
  webhook_id: 'w1',
  workspace_id: 'ws',
  event: 'issue.created',
  timestamp: EVENT_AT,
  traceparent: null,
  status: 'retrying',
  generation: 2,
  failures: 3,
  in_backlog: false,
  body: BODY,
};
const RECORD: AttemptRecord = {
  outcome: 'failed',
  failure: 'status',
  message: 'The response has status 500',
  address: '192.0.2.1',
  response: {
    status: 500,
    headers: { 'x-echo': 'open sealed' },
    body: Buffer.from('open sealed\u0000'),
    truncated: true,
  },
  timings: { lookup_ms: 1, connect_ms: 2, tls_ms: 3, first_byte_ms: 4, total_ms: 11.4 },
  started_at: new Date(0),
  duration_ms: 11,
};
const REQUEST = { trigger: 'manual', token: 't1', begun: BEGUN, now: () => ENDED } as const;
const HEADERS = {
  accept: '*/*',
  'accept-encoding': 'identity',
  'user-agent': 'Baton',
  'content-type': 'application/json',
  'x-service-event': 'issue.created',
  'x-service-delivery': 'd1',
  'x-service-timestamp': '2026-01-31T11:00:00.000Z',
  'x-service-signature': signature('open sealed', BODY),
  traceparent: 'the trace',
};
const OF = { deliveryId: 'd1', event: 'issue.created', timestamp: EVENT_AT };
const PREVIOUS = { 'x-service-signature-previous': signature('open sealed before', BODY) };

describe('the attempt of a delivery', () => {
  /** Makes an attempt. Returns its result, the requests to the URL and to the listener, and what is traced. */
  async function make({
    webhook = {},
    signal,
    openSecret = (sealed, id) => (id === 'w1' ? `open ${sealed}` : assert.fail(id)),
  }: {
    webhook?: Partial<WebhookTarget>;
    signal?: AbortSignal | undefined;
    openSecret?: PostDependencies['openSecret'];
  } = {}) {
    const sent: unknown[] = [];
    const relayed: unknown[] = [];
    const traced: unknown[] = [];
    const deps: PostDependencies = {
      sender: {
        async attempt(request) {
          sent.push(request);
          return RECORD;
        },
        close: async () => {},
      },
      relay: {
        async attempt(request) {
          relayed.push(request);
          return RECORD;
        },
      },
      openSecret,
      traces: {
        within: () => assert.fail(),
        begin(attempt) {
          traced.push(attempt);
          return { headers: { traceparent: 'the trace' }, end: (record) => void traced.push(record) };
        },
      },
    };
    const result = await post(deps, { ...WEBHOOK, ...webhook }, DELIVERY, { ...REQUEST, signal });
    return { result, sent, relayed, traced };
  }

  const RESULT = {
    delivery_id: 'd1',
    webhook_id: 'w1',
    workspace_id: 'ws',
    generation: 2,
    failures: 3,
    enabled_count: 5,
    trigger: 'manual',
    token: 't1',
    new_delivery: null,
    succeeded: false,
    attempted_at: '2026-01-31T12:00:00.000Z',
    completed_at: '2026-01-31T12:00:01.000Z',
    url: 'https://example.com/hook',
    request_headers: toStoredHeaders({ ...HEADERS, ...PREVIOUS, 'x-webhook-secret': '********' }, OF),
    response_status: 500,
    response_headers: { 'x-echo': '********' },
    response_body: '********\uFFFD',
    response_truncated: true,
    failure: 'status',
    message: 'The response has status 500',
    address: '192.0.2.1',
    timings: [1, 2, 3, 4, 11.4],
    response_ms: 11,
  };

  it('is one request to the URL of the webhook, whose result has all columns of the log', async () => {
    const { signal } = new AbortController();
    const { result, sent, relayed, traced } = await make({ signal });
    const headers = { ...HEADERS, ...PREVIOUS, 'x-webhook-secret': 'open sealed' };
    const url = 'https://example.com/hook';
    assert.deepEqual(sent, [
      { headers, body: BODY, timeoutMs: 30_000, signal, url, maxResponseBytes: 65_536 },
    ]);
    assert.deepEqual(relayed, []);
    assert.deepEqual(result, RESULT);
    const attributes = {
      'baton.delivery_id': 'd1',
      'baton.webhook_id': 'w1',
      'baton.event': 'issue.created',
      'baton.trigger': 'manual',
    };
    assert.deepEqual(traced, [{ of: 'webhook', url, attributes }, RECORD]);
  });

  it('goes to the listener of the webhook if it has one, without the secret in a header', async () => {
    const { result, sent, relayed } = await make({ webhook: { listening_until: new Date(0) } });
    const headers = { ...HEADERS, ...PREVIOUS };
    assert.deepEqual(relayed, [
      { headers, body: BODY, timeoutMs: 30_000, webhookId: 'w1', deliveryId: 'd1', event: 'issue.created' },
    ]);
    assert.deepEqual(sent, []);
    assert.deepEqual(result.request_headers, toStoredHeaders(headers, OF));
  });

  it('is signed with the previous secret only until its overlap ends', async () => {
    for (const webhook of [
      { previous_secret_until: BEGUN },
      { previous_secret_until: null },
      { previous_secret: null },
    ]) {
      const { result } = await make({ webhook });
      assert.ok(!('x-service-signature-previous' in result.request_headers), JSON.stringify(webhook));
    }
  });

  it('is not made, and recorded as failed, if a secret cannot be opened', async () => {
    const failure = new OutboundFailure('secret_unreadable', 'The secret is unreadable');
    const { result, sent, traced } = await make({
      openSecret: () => {
        throw failure;
      },
    });
    assert.deepEqual(sent, []);
    assert.deepEqual((traced[1] as AttemptRecord).message, 'The secret is unreadable');
    assert.deepEqual(result, {
      ...RESULT,
      request_headers: {},
      response_status: null,
      response_headers: null,
      response_body: null,
      response_truncated: null,
      failure: 'secret_unreadable',
      message: 'The secret is unreadable',
      address: null,
      timings: [null, null, null, null, 0],
      response_ms: 0,
    });
  });
});
