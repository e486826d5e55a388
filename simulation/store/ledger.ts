import type { ManualRetry } from '../../src/database/webhooks/manual-retries.ts';
import type { GroupEvent } from '../../src/database/webhooks/dispatch.ts';
import { createDeliverySteps } from './deliveries.ts';
import { createGroupSteps } from './groups.ts';
import { createResultSteps } from './results.ts';
import { createManualRetrySteps } from './manual-retries.ts';
import { createRetrySteps, isWaiting } from './retries.ts';
import { deliveriesWhere, webhookOf, type Steps, type Tables } from './tables.ts';

/** The steps of delivery workers and the reconciler, and those of people and callers. */
export type Ledger = Steps & ReturnType<typeof createPeopleSteps>;

/** Creates the ledger of deliveries over tables in memory. */
export function createLedger(tables: Tables): Ledger {
  return {
    ...createResultSteps(tables),
    ...createDeliverySteps(tables),
    ...createGroupSteps(tables),
    ...createRetrySteps(tables),
    ...createManualRetrySteps(tables),
    ...createPeopleSteps(tables),
  };
}

function createPeopleSteps(tables: Tables) {
  const isOn = (webhookId: string) => {
    const { active, disabled_at: disabledAt, deleted_at: deletedAt } = webhookOf(tables, webhookId);
    return active && disabledAt === null && deletedAt === null;
  };

  return {
    /** Stores a group of events that a caller sent. */
    acceptEvents(groupId: string, events: readonly GroupEvent[]): void {
      const bytes = events.reduce((sum, { body }) => sum + body.length, 0);
      tables.groups.set(groupId, {
        id: groupId,
        created_at: tables.now(),
        events: events.length,
        bytes,
        handed_at: null,
        started_at: null,
        done_at: null,
        claimed_by: null,
        repeats: false,
      });
      for (const event of events) tables.events.set(event.seq, { ...event, group_id: groupId });
    },

    /** Activates or deactivates a webhook. */
    setActive(webhookId: string, active: boolean): void {
      const webhook = webhookOf(tables, webhookId);
      if (webhook.deleted_at) return;
      if (active && !isOn(webhookId)) {
        webhook.enabled_count += 1;
        Object.assign(webhook, { disabled_at: null, consecutive_failures: 0 });
      }
      webhook.active = active;
    },

    /** Deletes a webhook. `holdOrCancelWaiting` then cancels its deliveries. Returns false if it was deleted before. */
    deleteWebhook(webhookId: string): boolean {
      const webhook = webhookOf(tables, webhookId);
      if (webhook.deleted_at !== null) return false;
      webhook.active = false;
      webhook.deleted_at = tables.now();
      return true;
    },

    /** Restarts the schedules of deliveries in the backlog. Returns how many. */
    recover(webhookId: string, statuses: readonly ('held' | 'failed')[]): number {
      if (!isOn(webhookId)) return 0;
      const chosen = deliveriesWhere(
        tables,
        (row) => row.webhook_id === webhookId && statuses.some((status) => status === row.status),
      );
      for (const row of chosen) {
        const start = {
          status: 'pending',
          reason: null,
          in_backlog: true,
          failures: 0,
          next_attempt_at: null,
        };
        const generation = row.generation + 1;
        Object.assign(row, { ...start, retry_started: false, generation, updated_at: tables.now() });
      }
      return chosen.length;
    },

    /** Stores a manual retry. Does nothing if its token is known. */
    requestManualRetry({ deliveryId, token, attempts }: ManualRetry, webhookId: string): void {
      const { manualRetries } = tables;
      if (manualRetries.has(token)) return;
      const own = { token, delivery_id: deliveryId, webhook_id: webhookId, attempts };
      const seq = manualRetries.size + 1;
      manualRetries.set(token, { ...own, seq, requested_at: tables.now(), ended_at: null });
    },

    /** Schedules a manual retry instead of the one that waits. */
    scheduleRetry({ deliveryId, token, at, attempts }: ScheduledRetry): void {
      for (const retry of tables.retries.values())
        if (retry.delivery_id === deliveryId && isWaiting(retry)) retry.cancelled_at = tables.now();
      const unmade = { started_at: null, ended_at: null, cancelled_at: null };
      tables.retries.set(token, { token, delivery_id: deliveryId, at, attempts, ...unmade });
    },
  };
}

type ScheduledRetry = { deliveryId: string; token: string; at: Date; attempts: number };
