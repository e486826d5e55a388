import type { DeliveryToSend } from '../../src/database/webhooks/dispatch.ts';
import { NEW, putAside } from './results.ts';
import {
  compare,
  deliveriesWhere,
  pageOf,
  waits,
  type DeliveryRow,
  type Steps,
  type Tables,
} from './tables.ts';

type DeliverySteps = Pick<
  Steps,
  | 'storeDeliveries'
  | 'findWaiting'
  | 'findDeliveryIds'
  | 'moveToBacklog'
  | 'markUnsent'
  | 'readProgress'
  | 'readDeliveriesToSend'
  | 'listBacklog'
  | 'markRetriesStarted'
  | 'listUnstartedRetries'
  | 'listForgottenBacklogs'
  | 'listOverdueDeliveries'
  | 'holdOrCancelWaiting'
  | 'listWebhooksWithWaiting'
  | 'readTargets'
>;

/** Creates the steps that read and change deliveries. */
export function createDeliverySteps(tables: Tables): DeliverySteps {
  const { deliveries } = tables;
  const existing = (ids: readonly string[]) => ids.flatMap((id) => deliveries.get(id) ?? []);

  const findWaiting = (ids: readonly string[]) =>
    new Set(existing(ids).flatMap((row) => (isFirst(row) ? [row.id] : [])));

  return {
    findWaiting,

    storeDeliveries(planned, now) {
      for (const { id, status, reason, ...plan } of planned) {
        if (deliveries.has(id)) continue;
        deliveries.set(id, { id, ...plan, ...NEW, status, reason, created_at: now, updated_at: now });
      }
      return findWaiting(planned.flatMap(({ id, status }) => (status === 'pending' ? [id] : [])));
    },

    findDeliveryIds(seqs) {
      const found = deliveriesWhere(tables, ({ event_seq: seq, test }) => seqs.includes(seq) && !test);
      return new Map(found.map(({ id, event_seq: seq, webhook_id }) => [`${seq}:${webhook_id}`, id]));
    },

    moveToBacklog(ids, now) {
      for (const row of existing(ids))
        if (row.status === 'pending') Object.assign(row, { in_backlog: true, updated_at: now });
    },

    markUnsent(planned, status, reason, now) {
      for (const { id, generation } of planned) {
        const row = deliveries.get(id);
        if (!row || row.generation !== generation || !waits(row)) continue;
        Object.assign(row, { status, reason, in_backlog: false, next_attempt_at: null, updated_at: now });
        row.generation += 1;
      }
    },

    readProgress(ids) {
      return new Map(
        existing(ids).map(({ id, status, generation, failures, in_backlog, attempts_count }) => [
          id,
          { id, status, generation, failures, in_backlog, attempts_count },
        ]),
      );
    },

    readDeliveriesToSend: (ids, before = null) =>
      withEvents(tables, existing(ids)).filter(({ created_at: at }) => before === null || at < before),

    listBacklog(webhookId, limit) {
      const waiting = deliveriesWhere(
        tables,
        (row) => row.webhook_id === webhookId && row.in_backlog && row.status === 'pending',
      );
      return withEvents(tables, waiting).slice(0, limit);
    },

    markRetriesStarted({ deliveryId, generation }) {
      const row = deliveries.get(deliveryId);
      if (row?.status === 'retrying' && row.generation === generation) row.retry_started = true;
    },

    listOverdueDeliveries(before, page) {
      const overdue = deliveriesWhere(
        tables,
        (row) => row.status === 'retrying' && row.retry_started && dueOf(row) < before,
      );
      const positions = overdue.map((row) => ({ id: row.id, generation: row.generation, due: dueOf(row) }));
      return pageOf(positions, (row) => row, page);
    },

    listUnstartedRetries(before, limit) {
      return deliveriesWhere(
        tables,
        (row) => row.status === 'retrying' && !row.retry_started && row.updated_at < before,
      )
        .toSorted((one, other) => dueOf(one).getTime() - dueOf(other).getTime())
        .slice(0, limit)
        .map((row) => ({ id: row.id, generation: row.generation, due: dueOf(row) }));
    },

    listForgottenBacklogs(before, limit) {
      const forgotten = deliveriesWhere(
        tables,
        (row) => row.in_backlog && row.status === 'pending' && row.updated_at < before,
      );
      return [...new Set(forgotten.map(({ webhook_id: id }) => id))].slice(0, limit);
    },

    holdOrCancelWaiting(webhookId) {
      const row = tables.webhooks.get(webhookId);
      if (!row?.deleted_at && !row?.disabled_at) return;
      const isDeleted = row.deleted_at !== null;
      const own = deliveriesWhere(tables, (one) => one.webhook_id === webhookId);
      for (const one of own.filter((delivery) => isForgotten(delivery, isDeleted))) {
        putAside(tables, one);
        one.updated_at = tables.now();
      }
    },

    listWebhooksWithWaiting(limit) {
      return [...tables.webhooks.values()]
        .filter(({ deleted_at: deletedAt, disabled_at: disabledAt }) => deletedAt || disabledAt)
        .filter(({ id, deleted_at: deletedAt }) =>
          [...deliveries.values()].some(
            (row) => row.webhook_id === id && isForgotten(row, deletedAt !== null),
          ),
        )
        .map(({ id }) => id)
        .toSorted(compare)
        .slice(0, limit);
    },

    readTargets(ids) {
      return new Map(
        ids.flatMap((id) => {
          const row = tables.webhooks.get(id);
          return row ? [[id, { ...row }] as const] : [];
        }),
      );
    },
  };
}

function dueOf({ next_attempt_at: due }: DeliveryRow): Date {
  return due ?? new Date(0);
}

/** Returns whether a delivery waits for its first attempt outside the backlog. */
export function isFirst({ status, in_backlog: isInBacklog }: DeliveryRow): boolean {
  return status === 'pending' && !isInBacklog;
}

/** Returns whether a delivery of a deleted or disabled webhook still has to be cancelled or held. */
function isForgotten(row: DeliveryRow, isDeleted: boolean): boolean {
  return isDeleted ? waits(row) || row.status === 'held' : waits(row) && !row.test;
}

/** Returns deliveries with the data of their events, in the order of the events. */
function withEvents({ events }: Tables, rows: readonly DeliveryRow[]): DeliveryToSend[] {
  return rows
    .toSorted((one, other) => one.event_seq - other.event_seq)
    .flatMap((row) => {
      const event = events.get(row.event_seq);
      if (!event) return [];
      const { id, webhook_id, workspace_id, status, generation, failures, in_backlog, attempts_count } = row;
      const { timestamp, body, traceparent } = event;
      const progress = { status, generation, failures, in_backlog, attempts_count };
      const { event: kind, test, next_attempt_at, created_at, updated_at } = row;
      const times = { next_attempt_at, created_at, updated_at };
      return [
        {
          ...progress,
          id,
          webhook_id,
          workspace_id,
          event: kind,
          timestamp,
          body: body === null ? null : Buffer.from(body),
          traceparent,
          test,
          ...times,
        },
      ];
    });
}
