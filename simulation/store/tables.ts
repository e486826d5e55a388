import type { DeliveryStore } from '../../src/database/webhooks/delivery-store.ts';
import type {
  DeliveryToSend,
  GroupEvent,
  OverduePage,
  OverduePosition,
} from '../../src/database/webhooks/dispatch.ts';
import type { WebhookTarget } from '../../src/database/webhooks/webhook-targets.ts';
import type { AttemptTrigger, DeliveryStatus } from '../../src/domain/webhooks/delivery.ts';

/*
 * The tables of deliveries in memory. Their functions do what the statements in `src/database/webhooks` do, one row at a
 * time. `test/properties/ledger.test.ts` compares both, for random calls.
 */

export type GroupRow = {
  id: string;
  created_at: Date;
  events: number;
  bytes: number;
  handed_at: Date | null;
  started_at: Date | null;
  done_at: Date | null;
  claimed_by: string | null;
  repeats: boolean;
};

export type EventRow = GroupEvent & { group_id: string };

export type DeliveryRow = Omit<DeliveryToSend, 'timestamp' | 'body' | 'traceparent' | 'status'> & {
  status: DeliveryStatus;
  event_seq: number;
  event_id: string;
  reason: string | null;
  retry_started: boolean;
};

export type AttemptRow = {
  delivery_id: string;
  number: number;
  trigger: AttemptTrigger;
  token: string | null;
  attempted_at: string;
  succeeded: boolean;
};

export type RetryRow = {
  token: string;
  delivery_id: string;
  at: Date;
  attempts: number;
  started_at: Date | null;
  ended_at: Date | null;
  cancelled_at: Date | null;
};

export type ManualRetryRow = {
  token: string;
  delivery_id: string;
  webhook_id: string;
  seq: number;
  attempts: number;
  requested_at: Date;
  ended_at: Date | null;
};

export type Tables = {
  webhooks: Map<string, WebhookTarget>;
  groups: Map<string, GroupRow>;
  events: Map<number, EventRow>;
  deliveries: Map<string, DeliveryRow>;
  attempts: AttemptRow[];
  retries: Map<string, RetryRow>;
  manualRetries: Map<string, ManualRetryRow>;
  now: () => Date;
  newId: () => string;
};

export function createTables(now: () => Date, newId: () => string): Tables {
  return {
    webhooks: new Map(),
    groups: new Map(),
    events: new Map(),
    deliveries: new Map(),
    attempts: [],
    retries: new Map(),
    manualRetries: new Map(),
    now,
    newId,
  };
}

/** The calls of {@link DeliveryStore}, each as one step that returns at once. */
export type Steps = {
  [Name in keyof DeliveryStore]: (
    ...given: Parameters<DeliveryStore[Name]>
  ) => Awaited<ReturnType<DeliveryStore[Name]>>;
};

/** Returns the deliveries that match, in the order of their ids. */
export function deliveriesWhere(
  { deliveries }: Tables,
  matches: (row: DeliveryRow) => boolean,
): DeliveryRow[] {
  return [...deliveries.values()].filter(matches).toSorted((one, other) => compare(one.id, other.id));
}

export function compare<T extends string | number>(one: T, other: T): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

/** Returns a page of overdue work. */
export function pageOf<Row>(
  rows: readonly Row[],
  positionOf: (row: Row) => OverduePosition,
  { after, limit }: OverduePage,
): Row[] {
  const order = (one: OverduePosition, other: OverduePosition) =>
    compare(one.due.getTime(), other.due.getTime()) || compare(one.id, other.id);
  return rows
    .filter((row) => after === null || order(positionOf(row), after) > 0)
    .toSorted((one, other) => order(positionOf(one), positionOf(other)))
    .slice(0, limit);
}

export function webhookOf({ webhooks }: Tables, id: string): WebhookTarget {
  const found = webhooks.get(id);
  if (!found) throw new Error(`there is no webhook ${id}`);
  return found;
}

/** Returns whether a delivery waits for an attempt. */
export function waits({ status }: DeliveryRow): boolean {
  return status === 'pending' || status === 'retrying';
}
