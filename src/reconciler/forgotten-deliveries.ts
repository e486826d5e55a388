import type { Logger } from 'pino';
import type { Database } from '../database/database.ts';
import { cancelForgottenTests } from '../database/webhooks/deliveries.ts';
import type { OverduePosition } from '../database/webhooks/dispatch.ts';
import type { DeliveryStore } from '../database/webhooks/delivery-store.ts';
import { listUnmailedOccasions, markMailsStarted } from '../database/people/notices.ts';
import { TEST_DRAFT_MS } from '../domain/common/limits.ts';
import type { NoticeKind } from '../domain/people/notice.ts';
import { countNextGroups, type StoredGroup } from '../domain/webhooks/dispatch-batches.ts';
import type { DeliveryControl } from '../temporal/delivery-control.ts';
import type { NotifyInput } from '../temporal/delivery-messages.ts';
import type { RunInspector } from './run-inspector.ts';
import type { ReconcilerAction } from './reconcile.ts';
import { CONCURRENT_STARTS, forEachRow } from './rows.ts';

/**
 * Dependencies of the functions that continue work of webhooks, if a process died between the database and Temporal.
 */
export type DeliveryDependencies = {
  store: DeliveryStore;
  deliveryControl: DeliveryControl;
  clock: () => Date;
  log: Logger;
  onAction?: ((action: ReconcilerAction) => void) | undefined;
};

/** Where the next turn continues to read overdue work; null: with the longest overdue. */
export type OverduePositions = Record<'deliveries' | 'retries', OverduePosition | null>;

type WithPositions = DeliveryDependencies & { positions: OverduePositions };
type WithDatabase<Name extends keyof DeliveryDependencies> = Pick<DeliveryDependencies, Name> & {
  database: Database;
};

/** Time for the process that stored the work to start it itself, in milliseconds. */
const IN_PROGRESS_MS = 3_000;
/** Time in which a backlog, or a manual retry, is sent or has an active workflow, in milliseconds. */
const BACKLOG_MS = 15_000;
/** How far back notices without mails are searched, in milliseconds: as long as a mail is tried. */
const NOTICE_MS = 24 * 3_600_000;
/** Time in which the workflow of a retry makes it, in milliseconds. */
const OVERDUE_MS = 60_000;
/** Time in which the process that stored a test has sent or cancelled it, in milliseconds. */
const TEST_MS = 3 * 60_000;
const BATCH = 500;
/** Maximum number of batches of groups in a turn. */
const ROUNDS = 20;
/**
 * Age of a dispatch, in milliseconds since its start, from which its workflow must be open: of groups that no workflow has
 * claimed, and of others. A group that was handed to a workflow behind another one is started again after the first.
 */
const UNCLAIMED_MS = 60_000;
const ABANDONED_MS = 15 * 60_000;
/** Time from the start of a workflow that dispatches groups to its end, in milliseconds. */
const LONGEST_DISPATCH_MS = 11 * 60_000;
/** Maximum difference between the clocks of Temporal and the database, in milliseconds. */
const CLOCK_SKEW_MS = 60_000;
/** Maximum number of unfinished groups that a turn compares with Temporal. */
const GROUPS = 100;

/**
 * Starts groups of events that were stored but not started: their process died before that, or Temporal was unavailable.
 */
export async function startUnstartedGroups({
  store,
  deliveryControl,
  clock,
  log,
  onAction,
}: DeliveryDependencies): Promise<void> {
  const since = { before: before(clock, IN_PROGRESS_MS), handedBefore: before(clock, UNCLAIMED_MS) };
  const start = async (ids: readonly [string, ...string[]]): Promise<void> => {
    await deliveryControl.dispatch(ids);
    await store.markGroupsStarted(ids);
    for (const _ of ids) onAction?.('group_started');
    log.warn(
      { groups: ids.length, first: ids[0] },
      'started groups of events that were stored but not started',
    );
  };
  for (let round = 1; round <= ROUNDS; round += 1) {
    const groups = await store.listUnstartedGroups(since, BATCH);
    await forEachRow(batchesOf(groups), String, async (ids) => {
      if (ids.length === 1) await start(ids);
      // A group that cannot be started must not hold back the others.
      else await start(ids).catch(() => forEachRow(ids, String, (id) => start([id])));
    });
    if (groups.length < BATCH) return;
  }
}

/** Yields the ids of the groups that one workflow dispatches. */
function* batchesOf(groups: readonly StoredGroup[]): Generator<[string, ...string[]]> {
  const rest = [...groups];
  while (rest.length > 0) {
    const [first, ...others] = rest.splice(0, countNextGroups(rest)).map(({ id }) => id);
    if (first !== undefined) yield [first, ...others];
  }
}

/**
 * Moves the events of groups that are not done, although nothing dispatches them any more, to new groups. For example,
 * an operator has terminated the workflow. {@link startUnstartedGroups} starts the new groups; what the old one has
 * recorded is not sent again.
 */
export async function regroupStuckEvents({
  store,
  engine,
  clock,
  log,
}: DeliveryDependencies & { engine: Pick<RunInspector, 'hasOpenDispatch'> }): Promise<void> {
  const since = { unclaimed: before(clock, UNCLAIMED_MS), claimed: before(clock, ABANDONED_MS) };
  const groups = await store.listUnfinishedGroups(since, GROUPS);
  await forEachRow(
    groups,
    ({ id }) => id,
    async ({ id, createdAt, startedAt }) => {
      const from = new Date(createdAt.getTime() - LONGEST_DISPATCH_MS);
      if (await engine.hasOpenDispatch({ from, until: new Date(startedAt.getTime() + CLOCK_SKEW_MS) }))
        return;
      await store.renewGroup(id);
      log.warn({ group_id: id }, 'moved the events of a group that no workflow dispatched to a new group');
    },
  );
}

/** Starts retries of deliveries whose failure was recorded, but whose workflow is not known to exist. */
export async function startUnstartedRetries({
  store,
  deliveryControl,
  clock,
  log,
  onAction,
}: DeliveryDependencies): Promise<void> {
  const deliveries = await store.listUnstartedRetries(before(clock, IN_PROGRESS_MS), BATCH);
  await forEachRow(
    deliveries,
    ({ id }) => id,
    async ({ id, generation, due }) => {
      const schedule = { deliveryId: id, generation };
      await deliveryControl.startRetries(schedule, due.getTime() - clock().getTime());
      await store.markRetriesStarted(schedule);
      onAction?.('retry_started');
      log.warn({ delivery_id: id }, 'started the retries of a delivery after its worker was interrupted');
    },
    CONCURRENT_STARTS,
  );
}

/** Starts retries of deliveries that are overdue and have no open workflow: for example, an operator has terminated it. */
export async function restartEndedRetries({
  store,
  deliveryControl,
  clock,
  log,
  onAction,
  positions,
}: WithPositions): Promise<void> {
  const page = { after: positions.deliveries, limit: BATCH };
  const deliveries = await store.listOverdueDeliveries(before(clock, OVERDUE_MS), page);
  positions.deliveries = positionAfter(deliveries);
  await forEachRow(
    deliveries,
    ({ id }) => id,
    async ({ id, generation }) => {
      if ((await deliveryControl.startOverdueRetries({ deliveryId: id, generation })) === 'known') return;
      onAction?.('retry_started');
      log.warn({ delivery_id: id }, 'started the retries of a delivery that was overdue');
    },
  );
}

/** Starts scheduled retries that are overdue and have no open workflow. */
export async function startOverdueRetries({
  store,
  deliveryControl,
  clock,
  log,
  onAction,
  positions,
}: WithPositions): Promise<void> {
  const due = before(clock, OVERDUE_MS);
  await store.markMadeRetries(due);
  const retries = await store.listOverdueRetries(due, { after: positions.retries, limit: BATCH });
  positions.retries = positionAfter(retries.map(({ at, token }) => ({ due: at, id: token })));
  await forEachRow(
    retries,
    ({ token }) => token,
    async ({ deliveryId, token, attempts }) => {
      const input = { deliveryId, trigger: 'manual', token, attempts, scheduled: true } as const;
      if ((await deliveryControl.attemptOverdue(input)) === 'known') return;
      onAction?.('scheduled_retry_started');
      log.warn({ delivery_id: deliveryId }, 'started a scheduled retry that was overdue');
    },
  );
}

/**
 * Holds or cancels deliveries that still wait for a disabled or deleted webhook: there were very many when it was deleted,
 * a process died, or the listener of the webhook left.
 */
export async function holdOrCancelLeftovers({ store }: Pick<DeliveryDependencies, 'store'>): Promise<void> {
  const webhooks = await store.listWebhooksWithWaiting(BATCH);
  await forEachRow(webhooks, String, (webhookId) => store.holdOrCancelWaiting(webhookId));
}

/**
 * Cancels tests whose process died before it started or cancelled them. A test without a result is cancelled after less
 * than a minute.
 */
export async function cancelTestsOfDeadProcesses({
  database,
  clock,
  log,
}: WithDatabase<'clock' | 'log'>): Promise<void> {
  const span = {
    draftedAfter: before(clock, 2 * TEST_DRAFT_MS),
    storedBefore: before(clock, TEST_MS),
    now: clock(),
  };
  const tests = await cancelForgottenTests(database, span);
  if (tests > 0) log.warn({ tests }, 'cancelled test deliveries after their process was interrupted');
}

/** Starts backlogs that have waited too long. An active one is only signalled again. */
export async function restartBacklogs({
  store,
  deliveryControl,
  clock,
  onAction,
}: DeliveryDependencies): Promise<void> {
  const webhooks = await store.listForgottenBacklogs(before(clock, BACKLOG_MS), BATCH);
  await forEachRow(webhooks, String, async (webhookId) => {
    await deliveryControl.drainBacklog(webhookId);
    onAction?.('backlog_drained');
  });
}

/** Starts manual retries that have waited too long. If their workflow is active, it is only signalled again. */
export async function startForgottenManualRetries({
  store,
  deliveryControl,
  clock,
  onAction,
}: DeliveryDependencies): Promise<void> {
  const webhooks = await store.listWebhooksWithManualRetries(before(clock, BACKLOG_MS), BATCH);
  await forEachRow(webhooks, String, async (webhookId) => {
    await deliveryControl.makeManualRetries(webhookId);
    onAction?.('manual_retries_started');
  });
}

/**
 * Starts mails about disabled webhooks if the worker died, or could not reach Temporal, before it started them, and
 * about runs that need a person, which nothing else starts.
 */
export async function startUnsentNotices({
  database,
  deliveryControl,
  clock,
}: WithDatabase<'deliveryControl' | 'clock'>): Promise<void> {
  const span = { after: before(clock, NOTICE_MS), before: before(clock, IN_PROGRESS_MS), limit: BATCH };
  await forEachRow(
    await listUnmailedOccasions(database, span),
    ({ id }) => id,
    async (occasion) => {
      const { kind, id, at } = occasion;
      // If the workflow exists already, this starts nothing.
      await deliveryControl.notify(NOTIFY_INPUT[kind](id, at.toISOString()));
      await markMailsStarted(database, occasion, clock());
    },
  );
}

const NOTIFY_INPUT: Readonly<Record<NoticeKind, (id: string, at: string) => NotifyInput>> = {
  'webhook.disabled': (id, at) => ({ webhookId: id, disabledAt: at }),
  'task.escalated': (id, at) => ({ executionId: id, escalatedAt: at }),
  'task.asked': (id, at) => ({ executionId: id, askedAt: at }),
};

/**
 * Returns where the next turn continues to read: behind a full page, so that work whose workflow is open, and waits for a
 * worker, does not hide work whose workflow has ended. Otherwise with the longest overdue again.
 */
function positionAfter(page: readonly OverduePosition[]): OverduePosition | null {
  const last = page.length === BATCH ? page.at(-1) : undefined;
  return last ? { due: last.due, id: last.id } : null;
}

function before(clock: () => Date, ms: number): Date {
  return new Date(clock().getTime() - ms);
}
