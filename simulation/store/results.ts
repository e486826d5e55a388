import type {
  AttemptResult,
  Disabled,
  RecordedResult,
} from '../../src/database/webhooks/delivery-results.ts';
import { FAILURES_TO_DISABLE } from '../../src/domain/common/limits.ts';
import { countFailures, selectCounting } from '../../src/domain/webhooks/failure-streak.ts';
import { DELIVERY_ATTEMPTS, deliveryWaitMs } from '../../src/domain/common/retry-schedules.ts';
import { waits, webhookOf, type DeliveryRow, type Steps, type Tables } from './tables.ts';

/** Creates the steps that record the results of attempts. */
export function createResultSteps(tables: Tables): Pick<Steps, 'recordResults' | 'findRecordedResults'> {
  return {
    recordResults(results) {
      const disabled = countAll(tables, results);
      const recorded = new Map<string, RecordedResult>();
      for (const result of results) {
        const row = tables.deliveries.get(result.delivery_id) ?? insert(tables, result);
        if (!row) continue;
        move(tables, row, result);
        recorded.set(row.id, stateOf(row, row.attempts_count));
        const { trigger, token, attempted_at, succeeded } = result;
        tables.attempts.push({
          delivery_id: row.id,
          number: row.attempts_count,
          trigger,
          token,
          attempted_at,
          succeeded,
        });
      }
      return { recorded, disabled };
    },

    findRecordedResults(results) {
      const found = new Map<string, RecordedResult>();
      for (const { delivery_id: id, attempted_at: at, trigger, token } of results) {
        const attempt = tables.attempts.find(
          (one) =>
            one.delivery_id === id &&
            one.attempted_at === at &&
            one.trigger === trigger &&
            one.token === token,
        );
        const row = tables.deliveries.get(id);
        if (attempt && row) found.set(id, stateOf(row, attempt.number));
      }
      return found;
    },
  };
}

/** Counts the results of each webhook in their order, and disables webhooks. */
function countAll(tables: Tables, results: readonly AttemptResult[]): Disabled[] {
  const disabled: Disabled[] = [];
  const counting = results.filter(({ trigger }) => trigger !== 'test');
  for (const [id, counted] of Map.groupBy(counting, ({ webhook_id }) => webhook_id)) {
    const webhook = webhookOf(tables, id);
    if (webhook.disabled_at || webhook.deleted_at) continue;
    const own = selectCounting(counted, webhook.enabled_count).map(({ succeeded }) => succeeded);
    const { count, reachedLimit } = countFailures(webhook.consecutive_failures, own, FAILURES_TO_DISABLE);
    webhook.consecutive_failures = count;
    if (!reachedLimit) continue;
    webhook.disabled_at = tables.now();
    disabled.push({ webhookId: id, at: webhook.disabled_at });
  }
  return disabled;
}

function insert(tables: Tables, result: AttemptResult): DeliveryRow | null {
  const { new_delivery: added, delivery_id: id, webhook_id, workspace_id } = result;
  if (!added) return null;
  const { event_seq, event_id, event } = added;
  const createdAt = new Date(added.created_at);
  const row: DeliveryRow = {
    id,
    webhook_id,
    workspace_id,
    event_seq,
    event_id,
    event,
    ...NEW,
    created_at: createdAt,
    updated_at: createdAt,
  };
  tables.deliveries.set(id, row);
  return row;
}

/** The columns of a new delivery. */
export const NEW = {
  status: 'pending' as DeliveryRow['status'],
  reason: null,
  generation: 0,
  failures: 0,
  attempts_count: 0,
  in_backlog: false,
  retry_started: false,
  next_attempt_at: null,
  test: false,
};

function move(tables: Tables, row: DeliveryRow, result: AttemptResult): void {
  const { trigger, succeeded, completed_at } = result;
  row.attempts_count += 1;
  row.updated_at = new Date(completed_at);
  if (succeeded || trigger === 'test') {
    Object.assign(row, { status: succeeded ? 'succeeded' : 'failed', reason: null, next_attempt_at: null });
    if (succeeded) row.in_backlog = false;
    return;
  }
  const isCurrent = result.generation === row.generation && result.failures === row.failures;
  if (trigger === 'manual' || !waits(row) || !isCurrent) {
    if (trigger === 'manual' && row.status !== 'retrying') row.next_attempt_at = null;
    return;
  }
  row.failures += 1;
  row.in_backlog = false;
  const waitMs = deliveryWaitMs(row.failures);
  row.next_attempt_at = waitMs === null ? null : new Date(row.updated_at.getTime() + waitMs);
  row.status = row.failures >= DELIVERY_ATTEMPTS ? 'failed' : 'retrying';
  const { deleted_at: deletedAt, disabled_at: disabledAt } = webhookOf(tables, row.webhook_id);
  if (row.status === 'retrying' && (deletedAt || disabledAt)) putAside(tables, row);
}

/** Cancels a delivery of a deleted webhook; holds one of a disabled webhook. */
export function putAside(tables: Tables, row: DeliveryRow): void {
  const isDeleted = webhookOf(tables, row.webhook_id).deleted_at !== null;
  row.status = isDeleted ? 'cancelled' : 'held';
  row.reason = isDeleted ? 'the webhook was deleted' : 'the webhook is disabled';
  row.generation += 1;
  row.in_backlog = false;
  row.next_attempt_at = null;
}

function stateOf({ status, generation, failures, next_attempt_at }: DeliveryRow, number: number) {
  return { status, generation, failures, next_attempt_at, number };
}
