import { randomUUIDv7 } from 'node:crypto';
import * as fc from 'fast-check';
import type { AttemptResult } from '../../src/database/webhooks/delivery-results.ts';
import { useOwnDeliveries } from '../support/deliveries.ts';
import { successOf } from '../support/results.ts';
import { createLedgerPair, type LedgerPair } from './ledger-pair.ts';
import { actionsOf, holdsAsync, type ActionOf, type PlansOf } from './property.ts';

const WEBHOOKS = 2;
const STORIES = 40;
const webhook = fc.nat(WEBHOOKS - 1);
/** A delivery, group or scheduled retry; the index counts from the newest one. */
const which = fc.nat(5);
/** How far what the sender knew lies behind. */
const behind = fc.constantFrom(0, 0, 0, 0, 1);

const result = fc.record({
  which,
  trigger: fc.constantFrom('automatic' as const, 'automatic' as const, 'manual' as const),
  succeeded: fc.boolean(),
  /** Whether a manual attempt is the one of the newest manual retry. */
  isRequested: fc.boolean(),
  generationBehind: behind,
  failuresBehind: behind,
  enabledBehind: behind,
});
type ResultPlan = typeof result extends fc.Arbitrary<infer T> ? T : never;

const ACTIONS = {
  add: [4, fc.record({ webhook, status: fc.constantFrom('pending', 'pending', 'held', 'skipped') })],
  record: [8, fc.record({ results: fc.array(result, { minLength: 1, maxLength: 4 }) })],
  recordNew: [2, fc.record({ webhook, succeeded: fc.boolean(), isStored: fc.boolean() })],
  // Enough to disable a webhook, or to end a schedule.
  failOften: [2, fc.record({ which, times: fc.nat(11) })],
  markUnsent: [
    1,
    fc.record({
      which,
      generationBehind: behind,
      status: fc.constantFrom('held', 'skipped', 'cancelled'),
    }),
  ],
  toBacklog: [1, fc.record({ which })],
  retriesStarted: [2, fc.record({ which, generationBehind: behind })],
  activate: [3, fc.record({ webhook, active: fc.boolean() })],
  hold: [2, fc.record({ webhook })],
  recover: [
    2,
    fc.record({ webhook, statuses: fc.subarray(['held' as const, 'failed' as const], { minLength: 1 }) }),
  ],
  delete: [1, fc.record({ webhook })],
  claim: [3, fc.record({ which, workflow: fc.constantFrom('one', 'two') })],
  groupStarted: [1, fc.record({ which })],
  groupDone: [1, fc.record({ which, workflow: fc.constantFrom('one', 'two') })],
  renew: [1, fc.record({ which })],
  schedule: [2, fc.record({ which, isOverdue: fc.boolean() })],
  startScheduled: [1, fc.record({ which })],
  endScheduled: [1, fc.record({ which })],
  requestRetry: [2, fc.record({ which, isKnown: fc.boolean() })],
  endRetries: [1, fc.record({ which })],
  unmade: [1, fc.record({ which, why: fc.constantFrom('the webhook is disabled', 'a reason') })],
} as const;

type Plans = PlansOf<typeof ACTIONS>;
type Action = ActionOf<typeof ACTIONS>;
const action = actionsOf(ACTIONS);

describe('the statements that change deliveries and webhooks', function () {
  const world = useOwnDeliveries({ workers: 0 });

  it('do what the ledger of the simulation does, for random stories', async () => {
    await holdsAsync(
      [fc.array(action, { minLength: 5, maxLength: 40 })],
      async (story) => {
        const ledger = await createStory();
        for (const one of story) await ledger.apply(one);
        await ledger.read();
      },
      STORIES,
    );
  });

  it('end a delivery whose last retry fails as failed, without a reason, if its webhook was disabled', async () => {
    const ledger = await createStory();
    const add = { kind: 'add', plan: { webhook: 0, status: 'pending' } } as const;
    const fail = (index: number, times: number) =>
      ({ kind: 'failOften', plan: { which: index, times } }) as const;
    for (const one of [add, fail(0, 5), add, fail(0, 5), fail(1, 1)]) await ledger.apply(one);
  });

  describe('do the same', () => {
    const add = { kind: 'add', plan: { webhook: 0, status: 'pending' } } as const;
    const fail = (times: number) => ({ kind: 'failOften', plan: { which: 0, times } }) as const;
    const succeed: Action = {
      kind: 'record',
      plan: {
        results: [
          {
            which: 0,
            trigger: 'manual',
            succeeded: true,
            isRequested: false,
            generationBehind: 0,
            failuresBehind: 0,
            enabledBehind: 0,
          },
        ],
      },
    };
    const stories: Readonly<Record<string, readonly Action[]>> = {
      'after the recovery of a delivery whose retries had started': [
        add,
        fail(1),
        { kind: 'retriesStarted', plan: { which: 0, generationBehind: 0 } },
        fail(9),
        add,
        fail(1),
        { kind: 'hold', plan: { webhook: 0 } },
        { kind: 'activate', plan: { webhook: 0, active: true } },
        { kind: 'recover', plan: { webhook: 0, statuses: ['held', 'failed'] } },
      ],
      'for a success after the webhook was disabled': [add, fail(10), succeed],
      'for the waiting deliveries of a group that another workflow has claimed': [
        add,
        { kind: 'claim', plan: { which: 0, workflow: 'one' } },
      ],
      'for a group that is done': [
        add,
        { kind: 'claim', plan: { which: 0, workflow: 'one' } },
        { kind: 'groupDone', plan: { which: 0, workflow: 'one' } },
        { kind: 'claim', plan: { which: 0, workflow: 'one' } },
      ],
      'for a delivery that has succeeded before it is marked as not sent': [
        add,
        succeed,
        { kind: 'markUnsent', plan: { which: 0, generationBehind: 0, status: 'skipped' } },
      ],
    };
    for (const [what, story] of Object.entries(stories)) {
      it(what, async () => {
        const ledger = await createStory();
        for (const one of story) await ledger.apply(one);
        await ledger.read();
      });
    }
  });

  /** Returns the methods of a story with two new webhooks in the database and in memory. */
  async function createStory() {
    const pair = await createLedgerPair(world, WEBHOOKS);
    return {
      async apply(one: Action): Promise<void> {
        const isPossible = !('which' in one.plan) || pair.tables.deliveries.size > 0;
        if (!isPossible || (one.kind === 'record' && pair.tables.deliveries.size === 0)) return;
        await createActions(pair)[one.kind](one.plan as never);
        await pair.compareRows(JSON.stringify(one));
      },
      read: () => readAll(pair),
    };
  }
});

/** Makes all calls that only read. */
async function readAll({ call, tables, webhookIds }: LedgerPair): Promise<void> {
  const ids = [...tables.deliveries.keys()];
  const groupIds = [...tables.groups.keys()];
  const later = new Date(Date.now() + 60_000);
  await call('findWaiting', ids);
  await call('readProgress', ids);
  await call('readDeliveriesToSend', ids);
  await call('findDeliveryIds', [...tables.events.keys()]);
  await call('listTargetsForGroups', groupIds);
  await call('listUnstartedRetries', later, 100_000);
  const nextDay = new Date(Date.now() + 24 * 3_600_000);
  await call('listOverdueDeliveries', nextDay, { after: null, limit: 100_000 });
  const retrying = [...tables.deliveries.values()].filter((row) => row.status === 'retrying');
  for (const { id, next_attempt_at: due } of retrying)
    if (due) await call('listOverdueDeliveries', nextDay, { after: { due, id }, limit: 100_000 });
  for (const { token: id, at: due } of tables.retries.values())
    await call('listOverdueRetries', nextDay, { after: { due, id }, limit: 100_000 });
  await call('listForgottenBacklogs', later, 100_000);
  await call('listWebhooksWithWaiting', 100_000);
  await call('listWebhooksWithManualRetries', later, 100_000);
  for (const id of webhookIds) await call('listBacklog', id, 3);
  for (const id of webhookIds) await call('listManualRetries', id, { after: 0, limit: 3 });
  for (const workflow of ['one', 'two']) await call('findWaitingOfGroups', groupIds, workflow);
}

function createActions(pair: LedgerPair): { [Kind in keyof Plans]: (plan: Plans[Kind]) => Promise<void> } {
  const { call, tables, webhookIds } = pair;
  const webhookId = (index: number) => webhookIds[index] ?? '';
  const newest = <T>(rows: Iterable<T>, index: number): T => {
    const all = [...rows];
    return all[all.length - 1 - (index % all.length)] as T;
  };
  const pick = (index: number) => newest(tables.deliveries.values(), index);
  const group = (index: number) => newest(tables.groups.values(), index);
  const scheduledToken = (index: number) =>
    tables.retries.size === 0 ? randomUUIDv7() : newest(tables.retries.keys(), index);
  const resultOf = (plan: ResultPlan): AttemptResult => {
    const row = pick(plan.which);
    const webhookRow = tables.webhooks.get(row.webhook_id);
    const isRequested = plan.isRequested && plan.trigger === 'manual';
    return successOf(row, {
      trigger: plan.trigger,
      token: isRequested ? ([...tables.manualRetries.keys()].at(-1) ?? null) : null,
      ...failed(plan.succeeded),
      generation: row.generation - plan.generationBehind,
      failures: row.failures - plan.failuresBehind,
      enabled_count: (webhookRow?.enabled_count ?? 0) - plan.enabledBehind,
    });
  };
  const planned = async (webhookIndex: number, status: string) => {
    const seq = await pair.accept();
    const event = tables.events.get(seq);
    return {
      id: randomUUIDv7(),
      workspace_id: event?.workspace_id ?? '',
      webhook_id: webhookId(webhookIndex),
      event_seq: seq,
      event_id: event?.id ?? '',
      event: 'issue.created' as const,
      status: status as 'pending',
      reason: status === 'pending' ? null : 'a reason',
    };
  };
  const record = async (results: readonly AttemptResult[]) => {
    await call('recordResults', results);
    await call('findRecordedResults', results);
  };

  return {
    async add({ webhook: index, status }) {
      await call('storeDeliveries', [await planned(index, status)], new Date());
    },
    async record({ results }) {
      const byDelivery = new Map(results.map((plan) => [pick(plan.which).id, plan]));
      await record([...byDelivery.values()].map(resultOf));
    },
    async recordNew({ webhook: index, succeeded, isStored }) {
      const plan = await planned(index, 'pending');
      const now = new Date();
      if (isStored) await call('storeDeliveries', [plan], now);
      const { event_seq, event_id, event } = plan;
      const added = { event_seq, event_id, event, created_at: now.toISOString() };
      const { enabled_count } = tables.webhooks.get(plan.webhook_id) ?? { enabled_count: 0 };
      await record([successOf(plan, { ...failed(succeeded), enabled_count, new_delivery: added })]);
    },
    async failOften({ which: index, times }) {
      const plan = { which: index, trigger: 'automatic' as const, succeeded: false };
      const current = {
        isRequested: false,
        generationBehind: 0,
        failuresBehind: 0,
        enabledBehind: 0,
      } as const;
      for (let n = 0; n < times; n += 1) await record([resultOf({ ...plan, ...current })]);
    },
    async markUnsent({ which: index, generationBehind, status }) {
      const { id, generation } = pick(index);
      const rows = [{ id, generation: generation - generationBehind }];
      await call('markUnsent', rows, status, 'a reason', new Date());
    },
    toBacklog: async ({ which: index }) => await call('moveToBacklog', [pick(index).id], new Date()),
    async retriesStarted({ which: index, generationBehind }) {
      const { id, generation } = pick(index);
      await call('markRetriesStarted', { deliveryId: id, generation: generation - generationBehind });
    },
    activate: async ({ webhook: index, active }) => await pair.setActive(webhookId(index), active),
    hold: async ({ webhook: index }) => await call('holdOrCancelWaiting', webhookId(index)),
    recover: async ({ webhook: index, statuses }) => await pair.recover(webhookId(index), statuses),
    delete: async ({ webhook: index }) => await pair.remove(webhookId(index)),
    claim: async ({ which: index, workflow }) =>
      await call('claimGroups', [group(index).id, group(index + 1).id], workflow),
    groupStarted: async ({ which: index }) =>
      await call('markGroupsStarted', [group(index).id, group(index + 1).id]),
    groupDone: async ({ which: index, workflow }) =>
      await call('markGroupsDone', [group(index).id], workflow, new Date()),
    renew: async ({ which: index }) => await pair.renew(group(index).id),
    async schedule({ which: index, isOverdue }) {
      const { id: deliveryId, attempts_count: attempts } = pick(index);
      const at = new Date(Date.now() + (isOverdue ? -3_600_000 : 3_600_000));
      await pair.schedule({ deliveryId, token: randomUUIDv7(), at, attempts });
      await call('listOverdueRetries', new Date(), { after: null, limit: 100_000 });
    },
    async requestRetry({ which: index, isKnown }) {
      const { id: deliveryId, webhook_id, attempts_count: attempts } = pick(index);
      const known = isKnown ? [...tables.manualRetries.keys()].at(-1) : undefined;
      await pair.requestRetry({ deliveryId, token: known ?? randomUUIDv7(), attempts }, webhook_id);
    },
    async endRetries({ which: index }) {
      const tokens = [...tables.manualRetries.keys()];
      await call('endManualRetries', tokens.length === 0 ? [] : [newest(tokens, index)]);
    },
    async startScheduled({ which: index }) {
      await call('startScheduledRetry', scheduledToken(index));
    },
    async endScheduled({ which: index }) {
      await call('endScheduledRetry', scheduledToken(index));
    },
    unmade: async ({ which: index, why }) =>
      await call('recordUnmadeRetry', pick(index), { why, at: new Date() }),
  };
}

function failed(succeeded: boolean): Partial<AttemptResult> {
  const now = new Date().toISOString();
  const at = { attempted_at: now, completed_at: now };
  return { ...at, succeeded, ...(succeeded ? {} : { response_status: 500, failure: 'status' }) };
}
