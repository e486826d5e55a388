import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import {
  listForgottenBacklogs,
  markRetriesStarted,
  listUnstartedRetries,
} from '../database/webhooks/dispatch.ts';
import { listUnstartedGroups, markGroupsStarted } from '../database/webhooks/events.ts';
import { listUnmailedOccasions } from '../database/people/notices.ts';
import { countNextGroups } from '../domain/webhooks/dispatch-batches.ts';
import type { DeliveryControl } from '../temporal/delivery-control.ts';
import type { ReconcilerAction } from './reconcile.ts';

/**
 * Dependencies of the functions that continue work of webhooks, if a process died between the database and Temporal.
 */
export type DeliveryDependencies = {
  database: Database;
  deliveryControl: DeliveryControl;
  clock: () => Date;
  log: Logger;
  onAction?: ((action: ReconcilerAction) => void) | undefined;
};

/** Time for the process that stored the work to start it itself, in milliseconds. */
const IN_PROGRESS_MS = 3_000;
/** Time in which a backlog is drained or has an active workflow, in milliseconds. */
const BACKLOG_MS = 15_000;
/** How far back notices without mails are searched, in milliseconds. */
const NOTICE_MS = 3_600_000;
const BATCH = 500;

/**
 * Starts groups of events that were stored but not started: their process died in between, or Temporal was unavailable.
 */
export async function dispatchForgotten({
  database,
  deliveryControl,
  clock,
  log,
  onAction,
}: DeliveryDependencies): Promise<void> {
  const groups = await listUnstartedGroups(database, before(clock, IN_PROGRESS_MS), BATCH);
  for (let first = groups[0]; first; first = groups[0]) {
    const [, ...others] = groups.splice(0, countNextGroups(groups));
    const ids = [first.id, ...others.map(({ id }) => id)] as const;
    await deliveryControl.dispatch(ids);
    await markGroupsStarted(database, ids);
    for (const _ of ids) onAction?.('group_started');
    log.warn(
      { groups: ids.length, first: first.id },
      'started groups of events that were stored but not started',
    );
  }
}

/** Starts retries of deliveries whose failure was recorded, but whose workflow is not known to exist. */
export async function retryForgotten({
  database,
  deliveryControl,
  clock,
  log,
  onAction,
}: DeliveryDependencies): Promise<void> {
  for (const { id, generation, due } of await listUnstartedRetries(
    database,
    before(clock, IN_PROGRESS_MS),
    BATCH,
  )) {
    await deliveryControl.startRetries({ deliveryId: id, generation }, due.getTime() - clock().getTime());
    await markRetriesStarted(database, [id]);
    onAction?.('retry_started');
    log.warn({ delivery_id: id }, 'started the retries of a delivery after its worker was interrupted');
  }
}

/** Starts backlogs that have waited too long. An active one is only signalled again. */
export async function drainForgotten({
  database,
  deliveryControl,
  clock,
  onAction,
}: DeliveryDependencies): Promise<void> {
  for (const webhookId of await listForgottenBacklogs(database, before(clock, BACKLOG_MS), BATCH)) {
    await deliveryControl.drainBacklog(webhookId);
    onAction?.('backlog_drained');
  }
}

/**
 * Starts mails about disabled webhooks if the worker died, or could not reach Temporal, before it started them, and
 * about escalated runs, which nothing else starts.
 */
export async function notifyForgotten({
  database,
  deliveryControl,
  clock,
}: DeliveryDependencies): Promise<void> {
  const span = { after: before(clock, NOTICE_MS), before: before(clock, IN_PROGRESS_MS) };
  // For notices that are being mailed, or need no mail, the workflow exists already. Then this does nothing.
  for (const { kind, id, at } of await listUnmailedOccasions(database, span)) {
    if (kind === 'webhook.disabled') await deliveryControl.notify(id, at);
    else await deliveryControl.notifyOfEscalation(id, at);
  }
}

function before(clock: () => Date, ms: number): Date {
  return new Date(clock().getTime() - ms);
}
