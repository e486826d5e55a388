import type { AttemptResult } from '../../src/database/webhooks/delivery-results.ts';
import { UNMADE_RETRY, type DeliveryStatus } from '../../src/domain/webhooks/delivery.ts';
import type { Commit } from '../store/memory-store.ts';
import type { DeliveryRow, Tables } from '../store/tables.ts';
import type { Clock, Process } from '../world/clock.ts';
import type { Arrival, RequestOutcome } from '../world/receivers.ts';
import type { Guarantee, Report } from './guarantees.ts';
import { createRequests } from './requests.ts';
import { createStreaks } from './streaks.ts';

/** The status of a delivery, and since when it has it. */
type Since = { status: DeliveryStatus; at: number };

/** The guarantee that is broken if an automatic attempt arrives while the delivery has this status. */
const FORBIDS: Partial<Record<DeliveryStatus, Guarantee>> = {
  succeeded: 'success',
  held: 'held',
  cancelled: 'change',
  skipped: 'delivered',
  failed: 'schedule',
};

/** Attempts of a schedule, according to the guarantee. */
const ATTEMPTS = 6;
/** How much too early a retry may begin, in milliseconds. */
const NEAR_MS = 1_000;

/** Statuses of deliveries whose manual retry is made, or says why not. */
const UNSETTLED: ReadonlySet<DeliveryStatus> = new Set(['retrying', 'failed', 'skipped']);

/** Statuses that a delivery may leave, and the steps that may change them. */
const LEAVES_HELD = new Set(['recover', 'recordResults', 'holdOrCancelWaiting']);

type Dependencies = {
  clock: Clock;
  tables: Tables;
  /** Maximum time from a decision to the arrival of its request without freezes, in milliseconds. */
  slackMs: number;
  of: {
    /** Whether the story contains no faults and no interruptions. */
    isCalm: boolean;
    /** Whether the story contains no faults, and only processes that stop as at SIGTERM. */
    isOrderly: boolean;
    /** Whether the story contains processes that freeze. */
    mayFreeze: boolean;
  };
  report: Report;
};

/** Checks every transaction and request of a world, and reports violations of guarantees. */
export function createObserver({ clock, tables, slackMs, of, report }: Dependencies) {
  const { isCalm, isOrderly, mayFreeze } = of;
  const since = new Map<string, Since>();
  const firstSent = new Map<string, number>();
  const bodies = new Map<string, string>();
  const requests = createRequests({ clock, tables, report });
  const streaks = createStreaks(tables, slackMs, report);

  /** Whether a sender has run for longer than the slack since a time, so that it must know what happened at that time. */
  const mustKnow = ({ by, at }: Arrival, then: number) => at - Math.max(then, by.thawedAt) > slackMs;

  function checkStatus(arrival: Arrival, row: DeliveryRow): void {
    const known = since.get(row.id);
    if (arrival.trigger !== 'automatic' || !known || !mustKnow(arrival, known.at)) return;
    const broken = FORBIDS[row.status];
    if (broken) return report(broken, `an automatic attempt of ${row.id}, which is ${row.status}, arrived`);
    const due = row.next_attempt_at?.getTime() ?? 0;
    if (row.status === 'retrying' && arrival.at < due - NEAR_MS)
      report('schedule', `an attempt of ${row.id} arrived ${due - arrival.at} ms before it was due`);
  }

  function checkWebhook(arrival: Arrival): void {
    const { deleted_at: deletedAt, disabled_at: disabledAt } = tables.webhooks.get(arrival.webhookId) ?? {};
    if (disabledAt && mustKnow(arrival, disabledAt.getTime()))
      report(
        'disabling',
        `${arrival.webhookId} got a request of ${arrival.deliveryId} although it is disabled`,
      );
    if (deletedAt && mustKnow(arrival, deletedAt.getTime()))
      report('change', `${arrival.webhookId} got a request of ${arrival.deliveryId} although it is deleted`);
  }

  function checkDuplicate({ webhookId, deliveryId, body }: Arrival): void {
    const known = bodies.get(`${webhookId} ${body}`);
    if (known !== undefined && known !== deliveryId)
      report('duplicates', `the event of ${deliveryId} arrived before as ${known}`);
    bodies.set(`${webhookId} ${body}`, deliveryId);
  }

  function checkOrder({ webhookId, deliveryId, body }: Arrival): void {
    if (!isCalm) return;
    const event = [...tables.events.values()].find((one) => one.body === body);
    if (!event || firstSent.has(`${webhookId} ${event.seq}`)) return;
    firstSent.set(`${webhookId} ${event.seq}`, clock.now());
    // A delivery that got no place waits in the backlog, where a later one may overtake it.
    if (tables.deliveries.get(deliveryId)?.in_backlog) return;
    for (const other of tables.events.values()) {
      const isLater = other.group_id === event.group_id && other.seq > event.seq;
      if (isLater && firstSent.has(`${webhookId} ${other.seq}`))
        report('order', `event ${other.seq} started before event ${event.seq} of the same request`);
    }
  }

  function checkMoves(name: string): void {
    for (const row of tables.deliveries.values()) {
      const before = since.get(row.id);
      if (before?.status === row.status) continue;
      since.set(row.id, { status: row.status, at: clock.now() });
      if (row.failures > ATTEMPTS)
        report('schedule', `${row.id} has ${row.failures} failures in one schedule`);
      if (before?.status === 'succeeded')
        report('success', `${row.id} was delivered and is ${row.status} after ${name}`);
      const isReleased = before?.status === 'held' && !LEAVES_HELD.has(name);
      if (isReleased) report('held', `${row.id} was held and is ${row.status} after ${name}`);
    }
  }

  /** The attempt of a manual or scheduled retry is recorded once. A frozen process may record its own after the repeat. */
  function checkToken({ token, delivery_id: id }: AttemptResult): void {
    if (token === null || mayFreeze) return;
    const made = tables.attempts.filter((attempt) => attempt.token === token).length;
    if (made > 1) report('manual', `${made} attempts were made for one retry of ${id}`);
  }

  const isEnded = (token: string) => tables.retries.get(token)?.cancelled_at === null;

  /** An ended retry was made, or is settled. The reason of one that was not made may be replaced by a later one. */
  function checkEnded(tokens: readonly string[]): void {
    for (const token of tokens) {
      const { delivery_id: id = '' } = tables.retries.get(token) ?? tables.manualRetries.get(token) ?? {};
      const row = tables.deliveries.get(id);
      const isUnmade = row && UNSETTLED.has(row.status) && !row.reason?.includes(UNMADE_RETRY);
      if (isUnmade && !tables.attempts.some((attempt) => attempt.token === token))
        report('manual', `a retry of ${id} has ended without an attempt`);
    }
  }

  return {
    /** Runs the step of a transaction and compares before and after. */
    around({ name, given, by }: Omit<Commit, 'result'>, step: () => unknown): unknown {
      const webhookId = name === 'setActive' ? (given[0] as string) : '';
      const enabledBefore = tables.webhooks.get(webhookId)?.enabled_count;
      const result = step();
      checkMoves(name);
      if (tables.webhooks.get(webhookId)?.enabled_count !== enabledBefore)
        streaks.onEnabled(webhookId, clock.now());
      if (name === 'recordResults') {
        const results = given[0] as readonly AttemptResult[];
        streaks.onResults(results, by);
        requests.onResults(results, by);
        for (const one of results) checkToken(one);
      }
      if (name === 'endManualRetries') checkEnded(given[0] as readonly string[]);
      if (name === 'endScheduledRetry' && isEnded(given[0] as string)) checkEnded(given as readonly string[]);
      return result;
    },

    onSend(arrival: Arrival): void {
      requests.onSend(arrival);
      if (arrival.trigger === 'automatic') checkOrder(arrival);
    },

    onArrival(arrival: Arrival): void {
      const row = tables.deliveries.get(arrival.deliveryId);
      if (row && arrival.trigger !== 'test') checkStatus(arrival, row);
      checkWebhook(arrival);
      checkDuplicate(arrival);
    },

    onResponse: (arrival: Arrival, outcome: RequestOutcome) => requests.onResponse(arrival, outcome),

    onExit: (process: Process, afterMs: number) => requests.onExit(process, afterMs),

    /** Checks what must hold once nothing is left to do. */
    onEnd(isQuiet: boolean, left: string): void {
      if (!isQuiet) report('delivered', `there is still work after the end: ${left}`);
      checkDelivered(tables, requests.hasSucceeded, report);
      if (isOrderly) requests.onEnd();
    },
  };
}

/** Every event must have an ended delivery for each webhook of its workspace that exists. */
function checkDelivered(tables: Tables, hasSucceeded: (id: string) => boolean, report: Report): void {
  const rows = Map.groupBy(tables.deliveries.values(), ({ event_seq: seq }) => seq);
  for (const event of tables.events.values()) {
    for (const webhook of tables.webhooks.values()) {
      if (webhook.workspace_id !== event.workspace_id || webhook.deleted_at) continue;
      const own = (rows.get(event.seq) ?? []).filter(({ webhook_id: id }) => id === webhook.id);
      const [row] = own;
      const what = `event ${event.seq} for ${webhook.id}`;
      if (!row) report('delivered', `${what} has no delivery`);
      else if (own.length > 1) report('duplicates', `${what} has ${own.length} deliveries`);
      else if (row.status === 'pending' || row.status === 'retrying')
        report('delivered', `${what} is still ${row.status}`);
      else if (row.status === 'succeeded' && !hasSucceeded(row.id))
        report('delivered', `${what} is delivered, but no attempt succeeded`);
      else if (row.status === 'failed' && row.failures !== ATTEMPTS)
        report('schedule', `${what} failed after ${row.failures} attempts`);
      else if (['held', 'skipped', 'cancelled'].includes(row.status) && !row.reason)
        report('delivered', `${what} is ${row.status} without a reason`);
    }
  }
}
