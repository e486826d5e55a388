import assert from 'node:assert/strict';
import { createAttemptLimiter } from '../../src/activities/deliveries/attempt-limiter.ts';
import { createAttempts, type AttemptDependencies } from '../../src/activities/deliveries/attempts.ts';
import type { Post } from '../../src/activities/deliveries/post.ts';
import type { AttemptResult, RecordedResult } from '../../src/database/webhooks/delivery-results.ts';
import type { DeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import type { WebhookTarget } from '../../src/database/webhooks/webhook-targets.ts';
import { unsentRecord } from '../../src/outbound/attempt-record.ts';
import { OutboundFailure } from '../../src/outbound/failure.ts';
import { UNTRACED } from '../../src/outbound/traces.ts';

const NOW = new Date('2026-01-31T12:00:00.000Z');
const LATER = new Date('2026-01-31T13:00:00.000Z');
const TARGET = { webhookId: 'w1', workspaceId: 'a workspace' };
const DELIVERY: Post = {
  id: 'd1',
  webhook_id: TARGET.webhookId,
  workspace_id: TARGET.workspaceId,
  event: 'issue.created',
  timestamp: NOW,
  traceparent: null,
  status: 'pending',
  generation: 0,
  failures: 0,
  in_backlog: false,
  body: Buffer.from('{}'),
};
const WEBHOOK = {
  id: TARGET.webhookId,
  url: 'https://example.com/',
  secret: null,
  previous_secret: null,
  previous_secret_until: null,
  include_secret_header: false,
  standard_webhooks: false,
  active: true,
  enabled_count: 0,
  disabled_at: null,
  deleted_at: null,
  listening_until: null,
} as Partial<WebhookTarget> as WebhookTarget;
const OPTIONS = { trigger: 'automatic', now: () => NOW, startsRetries: true } as const;
const SUCCESS = { ...unsentRecord(new OutboundFailure('status', ''), NOW), outcome: 'succeeded' } as const;
const FAILURE = unsentRecord(new OutboundFailure('status', 'The response has status 500'), NOW);

describe('the attempts of a worker with one place', () => {
  /** Returns the function that makes attempts, and what was sent, forgotten, and started. */
  function open(changes: Partial<AttemptDependencies> = {}) {
    const done: string[] = [];
    const limiter = createAttemptLimiter({ perWebhook: 1, perWorkspace: 1, overall: 1 });
    const attempt = createAttempts({
      limiter,
      webhookLoader: {
        loadForGroups: () => assert.fail(),
        loadCurrent: async () => ({ endpoint: WEBHOOK, at: NOW, delivery: null }),
        forget: (id) => void done.push(`forget ${id}`),
      },
      recorder: {
        async record({ succeeded, failures }: AttemptResult): Promise<RecordedResult> {
          done.push('record');
          const status = succeeded ? 'succeeded' : 'retrying';
          return { status, generation: 0, failures: failures + 1, next_attempt_at: NOW, number: 1 };
        },
        isOverloaded: () => false,
      },
      store: {
        markRetriesStarted: async () => void done.push('mark'),
      } as Partial<DeliveryStore> as DeliveryStore,
      sender: {
        async attempt() {
          done.push('send');
          return SUCCESS;
        },
        close: async () => {},
      },
      relay: { attempt: () => assert.fail() },
      openSecret: (sealed) => sealed,
      traces: UNTRACED,
      control: { startRetries: async () => void done.push('start retries') },
      onError: (_error, what) => void done.push(what),
      ...changes,
    });
    return { attempt, done, isFree: async () => (await limiter.acquire(TARGET, 0)) !== null };
  }
  const failing = { attempt: async () => FAILURE, close: async () => {} };

  it('are sent and recorded, and free the place', async () => {
    const { attempt, done, isFree } = open();
    assert.equal((await attempt(DELIVERY, OPTIONS)).kind, 'recorded');
    assert.deepEqual(done, ['send', 'record']);
    assert.ok(await isFree());
  });

  it('tell the rows of new deliveries when they begin', async () => {
    const { attempt, done } = open();
    const rows = {
      begin: (id: string) => void done.push(`begin ${id}`),
      hasRow: async () => false,
      take: async () => null,
      store: async () => {},
      close() {},
    };
    await attempt(DELIVERY, { ...OPTIONS, rows });
    assert.deepEqual(done, ['begin d1', 'send', 'record']);
  });

  it('share the open secrets of a webhook that was read once', async () => {
    const opened: string[] = [];
    const openSecret = (sealed: string) => {
      opened.push(sealed);
      return `open ${sealed}`;
    };
    let endpoint = { ...WEBHOOK, secret: 'new', previous_secret: 'old', previous_secret_until: LATER };
    const { attempt } = open({
      openSecret,
      webhookLoader: {
        loadForGroups: () => assert.fail(),
        loadCurrent: async () => ({ endpoint, at: NOW, delivery: null }),
        forget() {},
      },
    });
    await attempt(DELIVERY, OPTIONS);
    await attempt(DELIVERY, OPTIONS);
    assert.deepEqual(opened, ['new', 'old']);
    endpoint = { ...endpoint, secret: 'newer' };
    await attempt(DELIVERY, OPTIONS);
    assert.deepEqual(opened, ['new', 'old', 'newer', 'old']);
  });

  it('make the next one read the webhook again if they fail, and start the retries', async () => {
    const { attempt, done, isFree } = open({ sender: failing });
    await attempt(DELIVERY, OPTIONS);
    assert.deepEqual(done, ['record', 'forget w1', 'start retries', 'mark']);
    assert.ok(await isFree());
  });

  it('leave retries that cannot be started to the reconciler, or to the caller', async () => {
    const startRetries = () => Promise.reject(new Error('Temporal is unavailable'));
    const { attempt, done } = open({ sender: failing, control: { startRetries } });
    assert.equal((await attempt(DELIVERY, OPTIONS)).kind, 'recorded');
    assert.equal(done.at(-1), 'starting a retry failed; the reconciler will start it');
    await attempt(DELIVERY, { ...OPTIONS, startsRetries: false });
    assert.equal(done.at(-1), 'forget w1');
  });

  it('are not sent if they are aborted while the webhook is read', async () => {
    const controller = new AbortController();
    const { attempt, done, isFree } = open({
      webhookLoader: {
        loadForGroups: () => assert.fail(),
        async loadCurrent() {
          controller.abort(new Error('stopped'));
          return { endpoint: WEBHOOK, at: NOW, delivery: null };
        },
        forget() {},
      },
    });
    const { signal } = controller;
    await assert.rejects(attempt(DELIVERY, { ...OPTIONS, signal }), /stopped/);
    assert.deepEqual(done, []);
    assert.ok(await isFree());
  });

  for (const [what, changes] of [
    ['the webhook cannot be read', { webhookLoader: { loadCurrent: () => Promise.reject(new Error('no')) } }],
    ['the request fails with an error', { sender: { attempt: () => Promise.reject(new Error('no')) } }],
    [
      'the result cannot be recorded',
      { recorder: { record: () => Promise.reject(new Error('no')), isOverloaded: () => true } },
    ],
  ] as const) {
    it(`free the place if ${what}`, async () => {
      const { attempt, isFree } = open(changes as unknown as Partial<AttemptDependencies>);
      await assert.rejects(attempt(DELIVERY, OPTIONS), /no/);
      assert.ok(await isFree());
    });
  }
});
