import assert from 'node:assert/strict';
import { createHash, randomUUIDv7 } from 'node:crypto';
import { createLedger, type Ledger } from '../../simulation/store/ledger.ts';
import { createTables, type Steps, type Tables } from '../../simulation/store/tables.ts';
import { createDeliveryStore, type DeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import { requestManualRetry, type ManualRetry } from '../../src/database/webhooks/manual-retries.ts';
import { insertGroups } from '../../src/database/webhooks/events.ts';
import { recoverDeliveries } from '../../src/database/webhooks/recovery.ts';
import { scheduleRetry } from '../../src/database/webhooks/scheduled-retries.ts';
import { changeWebhook, deleteWebhook } from '../../src/database/webhooks/webhooks.ts';
import type { Deliveries } from '../support/deliveries.ts';

/** The same webhooks in PostgreSQL and in memory. Each call is made to both, and must return the same. */
export type LedgerPair = {
  webhookIds: readonly string[];
  tables: Tables;
  call<Name extends keyof Steps>(name: Name, ...given: Parameters<Steps[Name]>): Promise<void>;
  /** Stores one event for all webhooks, in a group of its own. Returns its number. */
  accept(): Promise<number>;
  setActive(webhookId: string, active: boolean): Promise<void>;
  remove(webhookId: string): Promise<void>;
  recover(webhookId: string, statuses: readonly ('held' | 'failed')[]): Promise<void>;
  requestRetry(retry: ManualRetry, webhookId: string): Promise<void>;
  schedule(retry: Parameters<Ledger['scheduleRetry']>[0]): Promise<void>;
  renew(groupId: string): Promise<void>;
  /** Compares all rows that decide. */
  compareRows(after: string): Promise<void>;
};

/** Creates webhooks in PostgreSQL and in memory. */
export async function createLedgerPair(world: Deliveries, webhooks: number): Promise<LedgerPair> {
  const { database, installation } = world;
  const workspaceId = installation.workspace_id;
  const begun = new Date();
  let newGroupId = '';
  const tables = createTables(
    () => new Date(),
    () => newGroupId,
  );
  const model = createLedger(tables);
  const real: DeliveryStore = createDeliveryStore(database);
  const webhookIds: string[] = [];
  for (let index = 0; index < webhooks; index += 1) {
    webhookIds.push(await world.webhook({ url: `http://webhook-${index}` }));
  }
  for (const [id, target] of await real.readTargets(webhookIds)) tables.webhooks.set(id, target);
  const context = (id: string) => ({ workspaceId, id, actor: 'a test', now: new Date() });
  const own = (value: unknown) => {
    const events = [...tables.events.values()].map(({ id }) => id);
    return comparable(value, new Set([...webhookIds, ...tables.deliveries.keys(), ...events]));
  };
  const query = async <Found>(text: string, values: unknown[] = []) =>
    await database.em.fork().execute<Found[]>(text, values);

  return {
    webhookIds,
    tables,

    async call(name, ...given) {
      const onReal = real[name] as (...values: unknown[]) => Promise<unknown>;
      const onModel = model[name] as (...values: unknown[]) => unknown;
      const stored = await onReal(...given);
      assert.deepEqual(own(stored), own(onModel(...given)), `${name} ${JSON.stringify(given)}`);
    },

    async accept() {
      const id = randomUUIDv7();
      const groupId = randomUUIDv7();
      const now = new Date();
      const body = '{"data":{}}';
      const hash = createHash('sha256').update(body).digest('hex');
      const event = { workspaceId, id, event: 'issue.created' as const, timestamp: now.toISOString() };
      const events = [{ ...event, hash, body, words: '', traceparent: null }];
      await insertGroups(database, { now, requests: [{ groupId, events }] });
      const [row] = await query<{ seq: string }>('select seq from events where id = ?', [id]);
      const seq = Number(row?.seq);
      const received = { timestamp: now, received_at: now, body, traceparent: null };
      model.acceptEvents(groupId, [
        { seq, workspace_id: workspaceId, id, event: 'issue.created', ...received },
      ]);
      return seq;
    },

    async setActive(webhookId, active) {
      await changeWebhook(database, context(webhookId), () => ({ active }));
      model.setActive(webhookId, active);
    },

    async remove(webhookId) {
      await deleteWebhook(database, context(webhookId));
      if (model.deleteWebhook(webhookId)) model.holdOrCancelWaiting(webhookId);
    },

    async recover(webhookId, statuses) {
      const which = { webhookId, since: begun, statuses, skipped: [] };
      await recoverDeliveries(database, { ...context(webhookId), ...which }, () => {});
      model.recover(webhookId, statuses);
    },

    async requestRetry(retry, webhookId) {
      const subject = `delivery:${retry.deliveryId}`;
      const entry = { workspaceId, actor: 'a test', action: 'delivery.retried', subject } as const;
      await requestManualRetry(database, retry, webhookId, { ...entry, at: new Date() });
      model.requestManualRetry(retry, webhookId);
    },

    async schedule(retry) {
      await scheduleRetry(database, retry);
      model.scheduleRetry(retry);
    },

    async renew(groupId) {
      const [event] = [...tables.events.values()].filter(({ group_id: id }) => id === groupId);
      if (!event) return;
      await real.renewGroup(groupId);
      const rows = await query<{ group_id: string }>('select group_id from events where seq = ?', [
        event.seq,
      ]);
      newGroupId = rows[0]?.group_id ?? '';
      model.renewGroup(groupId);
    },

    async compareRows(after) {
      const [webhookRows, deliveries, groups, retries, manualRetries] = await Promise.all([
        real.readTargets(webhookIds),
        query<Record<string, unknown>>('select * from deliveries where webhook_id = any(?::uuid[])', [
          `{${webhookIds.join()}}`,
        ]),
        query<Record<string, unknown>>('select * from event_groups where id = any(?::uuid[])', [
          `{${[...tables.groups.keys()].join()}}`,
        ]),
        query<Record<string, unknown>>('select * from scheduled_retries where token = any(?::uuid[])', [
          `{${[...tables.retries.keys()].join()}}`,
        ]),
        query<Record<string, unknown>>('select * from manual_retries where webhook_id = any(?::uuid[])', [
          `{${webhookIds.join()}}`,
        ]),
      ]);
      const stored = { webhooks: webhookRows, deliveries, groups, retries, manualRetries };
      assert.deepEqual(decisive(stored), decisive(tables), after);
    },
  };
}

type Rows = Iterable<object> | ReadonlyMap<unknown, object>;

/** Returns the columns that decide, by id. Times of the database only as whether they are set. */
function decisive({
  webhooks,
  deliveries,
  groups,
  retries,
  manualRetries,
}: Record<keyof typeof COLUMNS, Rows>) {
  const pick = (rows: Rows, { values, times }: Columns) => {
    const list = (rows instanceof Map ? [...rows.values()] : [...(rows as Iterable<object>)]) as Row[];
    return new Map(
      list.map((row) => [
        row['id'] ?? row['token'],
        {
          ...Object.fromEntries(values.map((name) => [name, plain(row[name])])),
          ...Object.fromEntries(times.map((name) => [name, row[name] !== null])),
          // The count of a deleted webhook means nothing.
          ...(row['deleted_at'] ? { consecutive_failures: 0 } : {}),
        },
      ]),
    );
  };
  return {
    webhooks: pick(webhooks, COLUMNS.webhooks),
    deliveries: pick(deliveries, COLUMNS.deliveries),
    groups: pick(groups, COLUMNS.groups),
    retries: pick(retries, COLUMNS.retries),
    manualRetries: pick(manualRetries, COLUMNS.manualRetries),
  };
}

type Row = Record<string, unknown>;
type Columns = { values: readonly string[]; times: readonly string[] };

const COLUMNS = {
  webhooks: {
    values: ['active', 'enabled_count', 'consecutive_failures'],
    times: ['disabled_at', 'deleted_at'],
  },
  deliveries: {
    values: [
      'webhook_id',
      'event_id',
      'status',
      'reason',
      'generation',
      'failures',
      'in_backlog',
      'retry_started',
      'attempts_count',
      'next_attempt_at',
    ],
    times: [],
  },
  groups: {
    values: ['claimed_by', 'repeats', 'events'],
    times: ['handed_at', 'started_at', 'done_at'],
  },
  retries: { values: ['delivery_id', 'attempts'], times: ['started_at', 'ended_at', 'cancelled_at'] },
  manualRetries: { values: ['delivery_id', 'webhook_id', 'attempts'], times: ['ended_at'] },
} as const satisfies Record<string, Columns>;

/** Returns a value in one form: PostgreSQL's times come as text or `Date`, by the driver. */
function plain(value: unknown): unknown {
  if (value instanceof Date) return value.getTime();
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\d[ T]/.test(value)) return new Date(value).getTime();
  return value;
}

/** Names of members that the store chose itself, such as times, and of one that only PostgreSQL returns. */
const IGNORED = new Set([
  'position',
  'is_repeat',
  'updated_at',
  'at',
  'disabled_at',
  'deleted_at',
  'startedAt',
  'createdAt',
]);

/** Returns the result of a call without times that the store chose, and without rows of other webhooks. */
function comparable(value: unknown, ids: ReadonlySet<string>): unknown {
  const isOwn = (one: unknown) => {
    const row = (one ?? {}) as Row;
    const id = row['id'] ?? row['deliveryId'];
    return id === undefined || ids.has(id as string);
  };
  if (value instanceof Set) return [...value].toSorted();
  if (value instanceof Map)
    return [...value]
      .map(([key, one]) => [key, comparable(one, ids)] as const)
      .filter(([, one]) => !Array.isArray(one) || one.length > 0)
      .toSorted(([one], [other]) => String(one).localeCompare(String(other)));
  if (Array.isArray(value)) {
    const isIds = value.every((one) => typeof one === 'string');
    return isIds
      ? value.filter((one) => ids.has(one))
      : value.filter(isOwn).map((one) => comparable(one, ids));
  }
  if (value === null || typeof value !== 'object' || value instanceof Date) return plain(value);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !IGNORED.has(name))
      .map(([name, one]) => [name, comparable(one, ids)]),
  );
}
