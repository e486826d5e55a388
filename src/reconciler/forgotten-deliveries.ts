import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import { backlogsForgotten, markRetriesStarted, retriesNeverStarted } from '../database/webhooks/dispatch.ts';
import { groupsNeverStarted, markGroupStarted } from '../database/webhooks/events.ts';
import { occasionsUnmailed } from '../database/people/notices.ts';
import type { DeliveryControl } from '../temporal/delivery-control.ts';
import type { ReconcilerAction } from './reconcile.ts';

/** What takes up the work of webhooks that a process left between the database and Temporal when it died. */
export type DeliveryDependencies = {
  database: Database;
  deliveryControl: DeliveryControl;
  clock: () => Date;
  log: Logger;
  onAction?: ((action: ReconcilerAction) => void) | undefined;
};

/** Whoever is still at it is left alone for so long, in milliseconds. */
const IN_PROGRESS_MS = 3_000;
/** A backlog is drained within this time, or has a workflow that is at it. */
const BACKLOG_MS = 15_000;
/** How far back notices are looked for that nobody was told to mail. */
const NOTICE_MS = 3_600_000;
const BATCH = 500;

/** Has groups of events dispatched that were stored but never started. */
export async function dispatchForgotten({
  database,
  deliveryControl,
  clock,
  log,
  onAction,
}: DeliveryDependencies): Promise<void> {
  for (const id of await groupsNeverStarted(database, before(clock, IN_PROGRESS_MS), BATCH)) {
    await deliveryControl.dispatch(id);
    await markGroupStarted(database, [id]);
    onAction?.('group_started');
    log.warn({ group_id: id }, 'started a group of events after its request was interrupted');
  }
}

/** Starts retries of deliveries whose failure was recorded, but whose workflow is not known to be there. */
export async function retryForgotten({
  database,
  deliveryControl,
  clock,
  log,
  onAction,
}: DeliveryDependencies): Promise<void> {
  for (const { id, generation, due } of await retriesNeverStarted(
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

/** Has backlogs drained that wait for longer than they should; one that is being drained is only told again. */
export async function drainForgotten({
  database,
  deliveryControl,
  clock,
  onAction,
}: DeliveryDependencies): Promise<void> {
  for (const webhookId of await backlogsForgotten(database, before(clock, BACKLOG_MS), BATCH)) {
    await deliveryControl.drainBacklog(webhookId);
    onAction?.('backlog_drained');
  }
}

/**
 * Has admins mailed about disablings whose worker died, or had no Temporal, before it saw to that; and people about runs
 * that ask for a human, which nobody else sees to.
 */
export async function notifyForgotten({
  database,
  deliveryControl,
  clock,
}: DeliveryDependencies): Promise<void> {
  const span = { after: before(clock, NOTICE_MS), before: before(clock, IN_PROGRESS_MS) };
  // Those that are being mailed, or are not to be, are started already: then this does nothing.
  for (const { kind, id, at } of await occasionsUnmailed(database, span)) {
    if (kind === 'webhook.disabled') await deliveryControl.notify(id, at);
    else await deliveryControl.notifyOfEscalation(id, at);
  }
}

function before(clock: () => Date, ms: number): Date {
  return new Date(clock().getTime() - ms);
}
