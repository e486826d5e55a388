import { Context } from '@temporalio/activity';
import type { Database } from '../database/database.ts';
import {
  eraseAnswers,
  eraseEventPayloads,
  removeDeletedWebhooks,
  removeDeliveries,
  removeEvents,
  removeGroups,
  removeNotifications,
  removeSkipped,
  type Removal,
} from '../database/common/retention.ts';

export type RetentionActivities = ReturnType<typeof createRetentionActivities>;

/** For how many days what is kept. */
export type KeptDays = {
  /** Payloads of events, and answers to attempts. */
  payloads: number;
  /** Deliveries with their attempts, and events. */
  deliveries: number;
  /** Deliveries that were skipped and never sent. */
  skipped: number;
  notifications: number;
};

type Dependencies = { database: Database; kept: KeptDays; clock?: () => Date };

/** Rows that one statement touches at most. */
export const BATCH_ROWS = 5_000;
const DAY_MS = 24 * 3_600_000;
/** The least pause between two batches, in milliseconds. */
const LEAST_PAUSE_MS = 10;

/** Removing what is kept no longer; each answers how many rows it has touched. */
export function createRetentionActivities({ database, kept, clock = () => new Date() }: Dependencies) {
  const olderThan = (days: number) => new Date(clock().getTime() - days * DAY_MS);
  const all = (removal: Removal, days: number) => removeAll(database, removal, olderThan(days));
  return {
    eraseEventPayloads: () => all(eraseEventPayloads, kept.payloads),
    eraseAnswers: () => all(eraseAnswers, kept.payloads),
    removeSkipped: () => all(removeSkipped, kept.skipped),
    removeDeliveries: () => all(removeDeliveries, kept.deliveries),
    removeEvents: () => all(removeEvents, kept.deliveries),
    // Nobody needs to know which events came together once they can't be sent any more.
    removeGroups: () => all(removeGroups, Math.min(kept.payloads, kept.deliveries)),
    removeNotifications: () => all(removeNotifications, kept.notifications),
    removeDeletedWebhooks: () => all(removeDeletedWebhooks, kept.deliveries),
  };
}

/** What a beat tells, so that a repeat after a crash counts on. */
type Progress = { rows: number };

/** Batch by batch, with pauses as long as the batches, so that deliveries have the database half of the time at least. */
async function removeAll(database: Database, removal: Removal, before: Date): Promise<number> {
  const context = Context.current();
  const known = context.info.heartbeatDetails as Progress | undefined;
  let rows = known?.rows ?? 0;
  let after: string | null = null;
  do {
    const begun = performance.now();
    const batch = await removal(database, { before, after, limit: BATCH_ROWS });
    rows += batch.rows;
    after = batch.next;
    context.heartbeat({ rows } satisfies Progress);
    if (after !== null) await pause(Math.max(LEAST_PAUSE_MS, performance.now() - begun));
    context.cancellationSignal.throwIfAborted();
  } while (after !== null);
  return rows;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
