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

/** Retention in days. */
export type RetentionDays = {
  /** Payloads of events, and responses to attempts. */
  payloads: number;
  /** Deliveries with their attempts, and events. */
  deliveries: number;
  /** Deliveries that were skipped and never sent. */
  skipped: number;
  notifications: number;
};

type Dependencies = { database: Database; kept: RetentionDays; clock?: () => Date };

/** Rows per statement, at most. */
export const BATCH_ROWS = 5_000;
const DAY_MS = 24 * 3_600_000;
/** Shortest pause between two batches, in milliseconds. */
const LEAST_PAUSE_MS = 10;

/** Creates the activities that remove rows past their retention. Each returns the number of affected rows. */
export function createRetentionActivities({ database, kept, clock = () => new Date() }: Dependencies) {
  const olderThan = (days: number) => new Date(clock().getTime() - days * DAY_MS);
  const all = (removal: Removal, days: number) => removeAll(database, removal, olderThan(days));
  return {
    eraseEventPayloads: () => all(eraseEventPayloads, kept.payloads),
    eraseAnswers: () => all(eraseAnswers, kept.payloads),
    removeSkipped: () => all(removeSkipped, kept.skipped),
    removeDeliveries: () => all(removeDeliveries, kept.deliveries),
    removeEvents: () => all(removeEvents, kept.deliveries),
    // Groups are not needed once their events can no longer be sent.
    removeGroups: () => all(removeGroups, Math.min(kept.payloads, kept.deliveries)),
    removeNotifications: () => all(removeNotifications, kept.notifications),
    removeDeletedWebhooks: () => all(removeDeletedWebhooks, kept.deliveries),
  };
}

/** Heartbeat details, with which a repeat after a crash continues to count. */
type Progress = { rows: number };

/**
 * Removes rows in batches, with pauses as long as the batches, so that deliveries have at least half of the database's
 * time.
 */
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
