import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import * as fc from 'fast-check';
import { recordResults } from '../../src/database/webhooks/delivery-results.ts';
import {
  markRetriesStarted,
  markUnsent,
  moveToBacklog,
  storeDeliveries,
} from '../../src/database/webhooks/dispatch.ts';
import { recoverDeliveries } from '../../src/database/webhooks/recovery.ts';
import { holdOrCancelWaiting } from '../../src/database/webhooks/waiting-deliveries.ts';
import { changeWebhook, deleteWebhook } from '../../src/database/webhooks/webhooks.ts';
import { useDeliveries } from '../support/deliveries.ts';
import { successOf } from '../support/results.ts';
import { LedgerModel, type ModelResult } from './ledger-model.ts';
import { holdsAsync } from './property.ts';

const WEBHOOKS = 2;
const STORIES = 60;
const webhook = fc.nat(WEBHOOKS - 1);
/** A delivery; the index counts from the newest one. */
const which = fc.nat(5);
/** How far what the sender knew lies behind. */
const behind = fc.constantFrom(0, 0, 0, 0, 1);

const result = fc.record({
  which,
  trigger: fc.constantFrom('automatic' as const, 'automatic' as const, 'manual' as const),
  succeeded: fc.boolean(),
  generationBehind: behind,
  failuresBehind: behind,
  enabledBehind: behind,
});

const action = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('add' as const), webhook }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('record' as const),
      results: fc.array(result, { minLength: 1, maxLength: 4 }),
    }),
  },
  // Enough to disable a webhook, or to end a schedule.
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('fail often' as const), which, times: fc.nat(11) }) },
  {
    arbitrary: fc.record({
      kind: fc.constant('mark unsent' as const),
      which,
      generationBehind: behind,
      status: fc.constantFrom('held' as const, 'skipped' as const, 'cancelled' as const),
    }),
    weight: 1,
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('to backlog' as const), which }) },
  {
    arbitrary: fc.record({ kind: fc.constant('retries started' as const), which, generationBehind: behind }),
    weight: 2,
  },
  {
    arbitrary: fc.record({ kind: fc.constant('activate' as const), webhook, active: fc.boolean() }),
    weight: 3,
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('hold' as const), webhook }) },
  {
    arbitrary: fc.record({
      kind: fc.constant('recover' as const),
      webhook,
      statuses: fc.subarray(['held' as const, 'failed' as const], { minLength: 1 }),
    }),
    weight: 2,
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const), webhook }) },
);
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

describe('the statements that change deliveries and webhooks', function () {
  const world = useDeliveries({ workers: 0 });
  let eventSeq = 0;

  before(async () => {
    await world.publish([{}]);
    const [event] = await world.database.em.fork().execute<{ seq: string }[]>('select seq from events');
    eventSeq = Number(event?.seq);
  });

  it('do what the model does, for random stories', async () => {
    await holdsAsync(
      [fc.array(action, { minLength: 5, maxLength: 40 })],
      async (story) => {
        const ledger = await createLedger();
        for (const one of story) {
          await ledger.apply(one);
          const [stored, expected] = await ledger.compare();
          assert.deepEqual(stored, expected, `after ${JSON.stringify(one)}`);
        }
      },
      STORIES,
    );
  });

  it('end a delivery whose last retry fails as failed, without a reason, if its webhook was disabled', async () => {
    const ledger = await createLedger();
    const story: Action[] = [
      { kind: 'add', webhook: 0 },
      { kind: 'fail often', which: 0, times: 5 },
      { kind: 'add', webhook: 0 },
      { kind: 'fail often', which: 0, times: 5 },
      { kind: 'fail often', which: 1, times: 1 },
    ];
    for (const one of story) await ledger.apply(one);
    const [stored, expected] = await ledger.compare();
    assert.deepEqual(stored, expected);
  });

  /** Returns two new webhooks in the database and in the model. */
  async function createLedger() {
    const { database, installation } = world;
    const workspaceId = installation.workspace_id;
    const webhookIds = [
      await world.webhook({ url: 'http://one' }),
      await world.webhook({ url: 'http://two' }),
    ];
    const deliveryIds: string[] = [];
    const model = new LedgerModel(WEBHOOKS);
    const begun = Date.now();
    let now = begun;
    const context = (index: number) => ({
      workspaceId,
      id: webhookIds[index] ?? '',
      actor: 'a test',
      now: new Date(now),
    });
    const pick = (index: number) => deliveryIds.length - 1 - (index % deliveryIds.length);

    async function record(plans: readonly Omit<ModelResult, 'completedAt'>[]): Promise<void> {
      const results = plans.map((plan) => ({ ...plan, completedAt: (now += 7) }));
      const rows = results.map((one) => {
        const at = new Date(one.completedAt).toISOString();
        const id = deliveryIds[one.delivery] ?? '';
        const row = {
          id,
          webhook_id: webhookIds[webhookIndex(one.delivery)] ?? '',
          workspace_id: workspaceId,
        };
        return successOf(row, {
          trigger: one.trigger,
          succeeded: one.succeeded,
          generation: one.generation,
          failures: one.failures,
          enabled_count: one.enabledCount,
          attempted_at: at,
          completed_at: at,
          ...(one.succeeded ? {} : { response_status: 500, failure: 'status' }),
        });
      });
      await recordResults(database, rows);
      model.record(results);
    }
    const webhookIndex = (delivery: number) => model.deliveries[delivery]?.webhook ?? 0;
    /** Returns what the sender of an attempt knows that starts now. */
    const known = (delivery: number) => {
      const row = model.deliveries[delivery];
      assert.ok(row);
      const { enabledCount } = model.webhookOf(row);
      return { delivery, generation: row.generation, failures: row.failures, enabledCount };
    };

    async function apply(one: Action): Promise<void> {
      now += 1_000;
      if ('which' in one || one.kind === 'record') if (deliveryIds.length === 0) return;
      switch (one.kind) {
        case 'add': {
          const id = randomUUIDv7();
          const event = { event_seq: eventSeq, event_id: 'evt_1', event: 'issue.created' as const };
          const plan = { id, workspace_id: workspaceId, webhook_id: webhookIds[one.webhook] ?? '', ...event };
          await storeDeliveries(database, [{ ...plan, status: 'pending', reason: null }], new Date(now));
          deliveryIds.push(id);
          return model.add(one.webhook);
        }
        case 'record': {
          const byDelivery = new Map(one.results.map((plan) => [pick(plan.which), plan]));
          return await record(
            [...byDelivery].map(([delivery, plan]) => {
              const { generation, failures, enabledCount } = known(delivery);
              return {
                delivery,
                trigger: plan.trigger,
                succeeded: plan.succeeded,
                generation: generation - plan.generationBehind,
                failures: failures - plan.failuresBehind,
                enabledCount: enabledCount - plan.enabledBehind,
              };
            }),
          );
        }
        case 'fail often': {
          const delivery = pick(one.which);
          for (let n = 0; n < one.times; n += 1) {
            await record([{ ...known(delivery), trigger: 'automatic', succeeded: false }]);
          }
          return;
        }
        case 'mark unsent': {
          const delivery = pick(one.which);
          const generation = known(delivery).generation - one.generationBehind;
          const rows = [{ id: deliveryIds[delivery] ?? '', generation }];
          await markUnsent(database, rows, one.status, 'a reason', new Date(now));
          return model.markUnsent(delivery, generation, one.status, 'a reason');
        }
        case 'to backlog': {
          const delivery = pick(one.which);
          await moveToBacklog(database, [deliveryIds[delivery] ?? ''], new Date(now));
          return model.moveToBacklog(delivery);
        }
        case 'retries started': {
          const delivery = pick(one.which);
          const generation = known(delivery).generation - one.generationBehind;
          await markRetriesStarted(database, { deliveryId: deliveryIds[delivery] ?? '', generation });
          return model.markRetriesStarted(delivery, generation);
        }
        case 'activate':
          await changeWebhook(database, context(one.webhook), () => ({ active: one.active }));
          return model.activate(one.webhook, one.active);
        case 'hold':
          await holdOrCancelWaiting(database, webhookIds[one.webhook] ?? '');
          return model.holdOrCancelWaiting(one.webhook);
        case 'recover':
          await recoverDeliveries(
            database,
            {
              ...context(one.webhook),
              webhookId: webhookIds[one.webhook] ?? '',
              since: new Date(begun),
              statuses: one.statuses,
              skipped: [],
            },
            () => {},
          );
          return model.recover(one.webhook, one.statuses);
        case 'delete':
          await deleteWebhook(database, context(one.webhook));
          return model.delete(one.webhook);
      }
    }

    /** Returns what is stored, and what the model has. */
    async function compare(): Promise<[unknown, unknown]> {
      const rows = await Promise.all(webhookIds.map((id) => world.webhookRow(id)));
      const stored = (await Promise.all(webhookIds.map((id) => world.deliveries(id)))).flat();
      const byId = new Map(stored.map((row) => [row.id, row]));
      return [
        {
          webhooks: rows.map((row) => ({
            active: row.active,
            disabled: row.disabled_at !== null,
            deleted: row.deleted_at !== null,
            enabledCount: row.enabled_count,
            // The count of a deleted webhook means nothing.
            consecutiveFailures: row.deleted_at === null ? row.consecutive_failures : 0,
          })),
          deliveries: deliveryIds.map((id) => {
            const row = byId.get(id);
            assert.ok(row);
            return {
              webhook: webhookIds.indexOf(row.webhook_id),
              status: row.status,
              reason: row.reason,
              generation: row.generation,
              failures: row.failures,
              inBacklog: row.in_backlog,
              retryStarted: row.retry_started,
              attempts: row.attempts_count,
              nextAt: row.next_attempt_at?.getTime() ?? null,
            };
          }),
        },
        { webhooks: model.webhooks, deliveries: model.deliveries },
      ];
    }
    return { apply, compare };
  }
});
