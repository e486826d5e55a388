import { deliveryWaitMs, DELIVERY_ATTEMPTS } from '../../src/domain/common/retry-schedules.ts';
import { FAILURES_TO_DISABLE } from '../../src/domain/common/limits.ts';

/*
 * A small model of webhooks and their deliveries: what the statements in `src/database/webhooks` must do, one row at a
 * time. Times are milliseconds since 1970.
 */

export type ModelWebhook = {
  active: boolean;
  disabled: boolean;
  deleted: boolean;
  enabledCount: number;
  consecutiveFailures: number;
};

export type ModelDelivery = {
  webhook: number;
  status: string;
  reason: string | null;
  generation: number;
  failures: number;
  inBacklog: boolean;
  retryStarted: boolean;
  attempts: number;
  nextAt: number | null;
};

/** The result of an attempt, with what its sender knew when the attempt started. */
export type ModelResult = {
  delivery: number;
  trigger: 'automatic' | 'manual';
  succeeded: boolean;
  generation: number;
  failures: number;
  enabledCount: number;
  completedAt: number;
};

export class LedgerModel {
  readonly webhooks: ModelWebhook[];
  readonly deliveries: ModelDelivery[] = [];

  constructor(webhooks: number) {
    this.webhooks = Array.from({ length: webhooks }, () => ({
      active: true,
      disabled: false,
      deleted: false,
      enabledCount: 0,
      consecutiveFailures: 0,
    }));
  }

  webhookOf({ webhook }: { webhook: number }): ModelWebhook {
    const found = this.webhooks[webhook];
    if (!found) throw new Error('no such webhook');
    return found;
  }

  isOn(webhook: number): boolean {
    const { active, disabled, deleted } = this.webhookOf({ webhook });
    return active && !disabled && !deleted;
  }

  add(webhook: number): void {
    this.deliveries.push({
      webhook,
      status: 'pending',
      reason: null,
      generation: 0,
      failures: 0,
      inBacklog: false,
      retryStarted: false,
      attempts: 0,
      nextAt: null,
    });
  }

  /** Records results that end in this order, of different deliveries. */
  record(results: readonly ModelResult[]): void {
    for (const [index, webhook] of this.webhooks.entries()) {
      const own = results.filter(({ delivery }) => this.deliveries[delivery]?.webhook === index);
      for (const result of own) count(webhook, result);
    }
    for (const result of results) this.#move(result);
  }

  #move({ delivery, trigger, succeeded, generation, failures, completedAt }: ModelResult): void {
    const row = this.deliveries[delivery];
    if (!row) throw new Error('no such delivery');
    row.attempts += 1;
    if (succeeded) {
      Object.assign(row, { status: 'succeeded', reason: null, nextAt: null, inBacklog: false });
      return;
    }
    const isDue = row.status === 'pending' || row.status === 'retrying';
    const isCurrent = generation === row.generation && failures === row.failures;
    if (trigger === 'manual' || !isDue || !isCurrent) {
      if (trigger === 'manual' && row.status !== 'retrying') row.nextAt = null;
      return;
    }
    row.failures += 1;
    row.inBacklog = false;
    // Only the first failure starts a workflow of retries, which then makes all of them.
    if (row.failures === 1) row.retryStarted = false;
    const waitMs = deliveryWaitMs(row.failures);
    row.nextAt = waitMs === null ? null : completedAt + waitMs;
    row.status = row.failures >= DELIVERY_ATTEMPTS ? 'failed' : 'retrying';
    const { deleted, disabled } = this.webhookOf(row);
    if (row.status === 'retrying' && (deleted || disabled)) this.#putAside(row);
  }

  /** Holds or cancels what waits. */
  holdOrCancelWaiting(webhook: number): void {
    const { deleted, disabled } = this.webhookOf({ webhook });
    for (const row of this.deliveries.filter((one) => one.webhook === webhook)) {
      const waits = row.status === 'pending' || row.status === 'retrying';
      if ((waits && (deleted || disabled)) || (row.status === 'held' && deleted)) this.#putAside(row);
    }
  }

  #putAside(row: ModelDelivery): void {
    const { deleted } = this.webhookOf(row);
    row.status = deleted ? 'cancelled' : 'held';
    row.reason = deleted ? 'the webhook was deleted' : 'the webhook is disabled';
    row.generation += 1;
    row.inBacklog = false;
    row.nextAt = null;
  }

  markUnsent(delivery: number, generation: number, status: string, reason: string): void {
    const row = this.deliveries[delivery];
    if (!row || row.generation !== generation) return;
    if (row.status !== 'pending' && row.status !== 'retrying') return;
    Object.assign(row, { status, reason, inBacklog: false, nextAt: null, generation: generation + 1 });
  }

  moveToBacklog(delivery: number): void {
    const row = this.deliveries[delivery];
    if (row?.status === 'pending') row.inBacklog = true;
  }

  markRetriesStarted(delivery: number, generation: number): void {
    const row = this.deliveries[delivery];
    if (row?.status === 'retrying' && row.generation === generation) row.retryStarted = true;
  }

  activate(webhook: number, active: boolean): void {
    const row = this.webhookOf({ webhook });
    if (row.deleted) return;
    if (active && !this.isOn(webhook)) {
      row.enabledCount += 1;
      Object.assign(row, { disabled: false, consecutiveFailures: 0 });
    }
    row.active = active;
  }

  delete(webhook: number): void {
    const row = this.webhookOf({ webhook });
    if (row.deleted) return;
    Object.assign(row, { deleted: true, active: false, consecutiveFailures: 0 });
    this.holdOrCancelWaiting(webhook);
  }

  recover(webhook: number, statuses: readonly string[]): void {
    if (!this.isOn(webhook)) return;
    for (const row of this.deliveries) {
      if (row.webhook !== webhook || !statuses.includes(row.status)) continue;
      const start = { status: 'pending', reason: null, inBacklog: true, failures: 0, nextAt: null };
      Object.assign(row, { ...start, retryStarted: false, generation: row.generation + 1 });
    }
  }
}

/** Counts a result. A failure of an attempt that began before the webhook was enabled again does not count. */
function count(webhook: ModelWebhook, { succeeded, enabledCount }: ModelResult): void {
  if (webhook.disabled || webhook.deleted) return;
  if (succeeded) webhook.consecutiveFailures = 0;
  else if (enabledCount === webhook.enabledCount) webhook.consecutiveFailures += 1;
  if (webhook.consecutiveFailures >= FAILURES_TO_DISABLE) webhook.disabled = true;
}
