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

  it('that fail start their retries when they are due, of the generation that was recorded', async () => {
    const started: unknown[] = [];
    const { attempt } = open({
      sender: failing,
      recorder: {
        record: async () => ({
          status: 'retrying',
          generation: 4,
          failures: 1,
          next_attempt_at: new Date(NOW.getTime() + 60_000),
          number: 7,
        }),
        isOverloaded: () => false,
      },
      control: { startRetries: async (...given) => void started.push(given) },
      store: {
        markRetriesStarted: async (schedule) => void started.push(schedule),
      } as Partial<DeliveryStore> as DeliveryStore,
    });
    await attempt(DELIVERY, OPTIONS);
    const schedule = { deliveryId: 'd1', generation: 4 };
    assert.deepEqual(started, [[schedule, 60_000], schedule]);
  });

  it('are reported with their number once they are recorded, with the row of a new delivery', async () => {
    const row = { event_seq: 1, event_id: 'evt_1', event: 'issue.created', created_at: '' } as const;
    const reported: unknown[] = [];
    const onAttempt: AttemptDependencies['onAttempt'] = ({ delivery_id, number, new_delivery }) =>
      void reported.push([delivery_id, number, new_delivery]);
    const recorded: unknown[] = [];
    const recorder = {
      async record({ new_delivery }: AttemptResult) {
        recorded.push(new_delivery);
        return recorded.length === 1
          ? ({ status: 'succeeded', generation: 0, failures: 0, next_attempt_at: null, number: 7 } as const)
          : null;
      },
      isOverloaded: () => false,
    };
    const { attempt } = open({ onAttempt, recorder });
    const rows = {
      begin() {},
      hasRow: async () => false,
      take: async () => row,
      store: async () => {},
      close() {},
    };
    await attempt(DELIVERY, { ...OPTIONS, rows });
    assert.deepEqual([recorded, reported], [[row], [['d1', 7, row]]]);
    const deleted = await attempt(DELIVERY, OPTIONS);
    assert.deepEqual([deleted, reported.length], [{ kind: 'recorded', result: null }, 1]);
  });

  it('keep their place until they are recorded if they fail, or too many results are not', async () => {
    for (const [sender, isOverloaded, isKept] of [
      [failing, false, true],
      [{ attempt: async () => SUCCESS, close: async () => {} }, false, false],
      [{ attempt: async () => SUCCESS, close: async () => {} }, true, true],
    ] as const) {
      const recording = Promise.withResolvers<null>();
      const recorder = { record: () => recording.promise, isOverloaded: () => isOverloaded };
      const { attempt, isFree } = open({ sender, recorder });
      const making = attempt(DELIVERY, OPTIONS);
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
      assert.equal(await isFree(), !isKept);
      recording.resolve(null);
      await making;
    }
  });

  it('have no room if no place is free in time', async () => {
    const waits: unknown[] = [];
    const { signal } = new AbortController();
    const { attempt, done } = open({
      limiter: {
        async acquire(...given) {
          waits.push(given);
          return null;
        },
      },
    });
    assert.deepEqual(await attempt(DELIVERY, { ...OPTIONS, signal }), { kind: 'no_room' });
    assert.deepEqual([waits, done], [[[TARGET, 1_000, signal]], []]);
  });

  it('that their own request signal aborts are not recorded, and free the place', async () => {
    const controller = new AbortController();
    const aborted = unsentRecord(new OutboundFailure('aborted', 'The attempt was aborted'), NOW);
    const sender = {
      async attempt({ signal }: { signal?: AbortSignal }) {
        assert.equal(signal, controller.signal);
        controller.abort(new Error('stopped'));
        return aborted;
      },
      close: async () => {},
    };
    const { attempt, done, isFree } = open({ sender });
    const options = { ...OPTIONS, requestSignal: controller.signal };
    await assert.rejects(attempt(DELIVERY, options), /stopped/);
    assert.deepEqual(done, []);
    assert.ok(await isFree());
  });

  describe('read the delivery again', () => {
    /** Makes an attempt of a delivery that is in this state, after a wait of 5 ms. Returns what it read, and its outcome. */
    async function make(options: object, current: object | null = {}) {
      const reads: (string | null)[] = [];
      const { attempt } = open({
        limiter: { acquire: async () => ({ release() {}, waitedMs: 5 }) },
        webhookLoader: {
          loadForGroups: () => assert.fail(),
          async loadCurrent(webhookId, _now, deliveryId) {
            assert.equal(webhookId, 'w1');
            reads.push(deliveryId);
            const { status, generation, failures, in_backlog } = DELIVERY;
            const progress = { status, generation, failures, in_backlog, attempts_count: 0, ...current };
            return { endpoint: WEBHOOK, at: NOW, delivery: current && progress };
          },
          forget() {},
        },
      });
      const { kind } = await attempt(DELIVERY, { ...OPTIONS, ...options });
      return [reads, kind];
    }
    const rowsWith = (isThere: boolean) => ({
      rows: {
        begin() {},
        hasRow: async (id: string) => id === 'd1' && isThere,
        take: async () => null,
        store: async () => {},
        close() {},
      },
    });

    it('if they waited for too long, or it was read long before, and others may have changed it', async () => {
      for (const [options, isRead] of [
        [{}, true],
        [{ freshMs: 4 }, true],
        [{ freshMs: 5 }, false],
        [{ freshMs: null }, true],
        [{ freshMs: null, ...rowsWith(true) }, true],
        [{ freshMs: null, ...rowsWith(false) }, false],
      ] as const) {
        const expected = [[isRead ? 'd1' : null], 'recorded'];
        assert.deepEqual(await make(options), expected, JSON.stringify(options));
      }
    });

    it('and are not made if it has changed, or is gone', async () => {
      for (const changed of [
        { status: 'held' },
        { generation: 1 },
        { failures: 1 },
        { in_backlog: true },
        null,
      ])
        assert.deepEqual(await make({}, changed), [['d1'], 'unsent'], JSON.stringify(changed));
      assert.deepEqual(await make({ freshMs: 5 }, null), [[null], 'recorded']);
      const isWanted = ({ attempts_count: attempts }: { attempts_count: number }) => attempts === 2;
      assert.deepEqual(await make({ isWanted }, { attempts_count: 2, failures: 1 }), [['d1'], 'recorded']);
      assert.deepEqual(await make({ isWanted }, { attempts_count: 1 }), [['d1'], 'unsent']);
    });
  });

  it('that may not be sent are recorded as such: in the status, or in the reason of a manual one', async () => {
    const reasons = { deleted: 'the webhook was deleted', disabled: 'the webhook is disabled' };
    for (const [change, trigger, expected] of [
      [null, 'automatic', ['cancelled', reasons.deleted]],
      [{ deleted_at: NOW }, 'automatic', ['cancelled', reasons.deleted]],
      [{ disabled_at: NOW }, 'automatic', ['held', reasons.disabled]],
      [{ active: false }, 'automatic', ['skipped', 'the webhook is inactive']],
      [null, 'test', ['cancelled', reasons.deleted]],
      [null, 'manual', [{ why: reasons.deleted, at: LATER }]],
      [{ disabled_at: NOW }, 'manual', [{ why: reasons.disabled, at: LATER }]],
      [{ disabled_at: NOW, active: false }, 'test', null],
    ] as const) {
      const done: unknown[] = [];
      const { attempt } = open({
        webhookLoader: {
          loadForGroups: () => assert.fail(),
          loadCurrent: async () => ({
            endpoint: change && { ...WEBHOOK, ...change },
            at: NOW,
            delivery: null,
          }),
          forget() {},
        },
        store: {
          markUnsent: async ([one], status, reason, at) => void done.push(one, status, reason, at),
          recordUnmadeRetry: async (one, unmade) => void done.push(one, unmade),
        } as Partial<DeliveryStore> as DeliveryStore,
      });
      const stored: string[] = [];
      const store = async (ids: readonly string[]) => void stored.push(...ids);
      const rows = { begin() {}, hasRow: async () => false, take: async () => null, store, close() {} };
      const { kind } = await attempt(DELIVERY, { ...OPTIONS, trigger, now: () => LATER, rows });
      const at = trigger === 'manual' ? [] : [LATER];
      const where = `${trigger} ${JSON.stringify(change)}`;
      assert.equal(kind, expected ? 'unsent' : 'recorded', where);
      assert.deepEqual(done, expected ? [DELIVERY, ...expected, ...at] : [], where);
      assert.deepEqual(stored, expected ? ['d1'] : [], where);
    }
  });
});
