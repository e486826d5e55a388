import type { AttemptResult } from '../../src/database/webhooks/delivery-results.ts';
import type { Tables } from '../store/tables.ts';
import { GRACE_MS } from '../engine/tasks.ts';
import type { Clock, Process } from '../world/clock.ts';
import type { Arrival, RequestOutcome } from '../world/receivers.ts';
import type { Report } from './guarantees.ts';

/** A request that is not recorded yet; null while it is in progress. `at`: when its sender got the response. */
type Ending = { outcome: RequestOutcome; at: number } | null;
/** How many requests of a delivery were sent, have failed, and were interrupted by a process that stops. */
type Counts = { sent: number; failed: number; interrupted: number };

const MINUTE_MS = 60_000;
/** The waits of the schedule, each from the end of the failed attempt, according to the guarantee. */
const WAITS_MS = [1, 5, 30, 120, 720].map((minutes) => minutes * MINUTE_MS);
/** How much the stored time of a retry may differ from the end of the failed attempt and the wait, in milliseconds. */
const NEAR_MS = 1_000;

/** Compares recorded attempts with the requests that the receivers saw: how many there were, and how each of them ended. */
export function createRequests({ clock, tables, report }: { clock: Clock; tables: Tables; report: Report }) {
  const counts = new Map<string, Counts>();
  const unrecorded = new Map<Arrival, Ending>();
  const succeeded = new Set<string>();
  const bodies = new Map<string, string>();
  /** When the next attempt of a delivery was due after its last recorded result. */
  const dueAt = new Map<string, number>();

  function countsOf(deliveryId: string): Counts {
    const known = counts.get(deliveryId) ?? { sent: 0, failed: 0, interrupted: 0 };
    counts.set(deliveryId, known);
    return known;
  }

  /** Returns how the recorded request ended, and forgets it. Null if none has ended. */
  function take(result: AttemptResult, by: Process | null): Ending {
    const own = [...unrecorded].filter(
      ([arrival]) => arrival.by === by && arrival.deliveryId === result.delivery_id,
    );
    const [arrival, ending = null] = own.findLast(([, one]) => one !== null) ?? own[0] ?? [];
    if (arrival) unrecorded.delete(arrival);
    return ending;
  }

  function checkCounts({ delivery_id: id }: AttemptResult): void {
    const { sent, failed } = countsOf(id);
    const recorded = tables.deliveries.get(id)?.attempts_count ?? 0;
    if (recorded > sent) report('log', `${recorded} attempts of ${id} are recorded, but ${sent} were made`);
    const failures = tables.attempts.filter((one) => one.delivery_id === id && !one.succeeded).length;
    // A failure is that of the receiver, not of a process that has aborted its request.
    if (failures > failed)
      report('schedule', `${failures} attempts of ${id} are recorded as failed, but ${failed} have failed`);
  }

  function checkOutcome(result: AttemptResult, ending: Ending): void {
    const isSuccess = ending?.outcome === 'succeeded';
    if (result.succeeded && !isSuccess)
      report('delivered', `an attempt of ${result.delivery_id} is recorded as successful, but was not`);
  }

  /** The result of a process that was frozen does not change the schedule if another one has made the attempt again. */
  function checkWait(
    { delivery_id: id, trigger, succeeded: isSuccess }: AttemptResult,
    ending: Ending,
  ): void {
    const { status, failures = 0, next_attempt_at: next = null } = tables.deliveries.get(id) ?? {};
    if (status !== 'retrying' || next === null) return;
    const isChanged = dueAt.get(id) !== next.getTime();
    dueAt.set(id, next.getTime());
    if (!isChanged || trigger !== 'automatic' || isSuccess || ending === null) return;
    const waitMs = next.getTime() - ending.at;
    const wanted = WAITS_MS[failures - 1] ?? Number.NaN;
    if (!(Math.abs(waitMs - wanted) <= NEAR_MS))
      report(
        'schedule',
        `the retry of ${id} after ${failures} failures is ${waitMs} ms later, not ${wanted}`,
      );
  }

  return {
    onSend(arrival: Arrival): void {
      const { deliveryId, body } = arrival;
      countsOf(deliveryId).sent += 1;
      unrecorded.set(arrival, null);
      const before = bodies.get(deliveryId) ?? body;
      if (before !== body) report('duplicates', `${deliveryId} was sent with two bodies`);
      bodies.set(deliveryId, body);
      const event = tables.events.get(tables.deliveries.get(deliveryId)?.event_seq ?? -1);
      if (event && event.body !== body)
        report('delivered', `the body of ${deliveryId} is not that of its event`);
    },

    onResponse(arrival: Arrival, outcome: RequestOutcome): void {
      const { deliveryId } = arrival;
      if (outcome === 'succeeded') succeeded.add(deliveryId);
      if (outcome === 'failed') countsOf(deliveryId).failed += 1;
      if (outcome === 'aborted') {
        unrecorded.delete(arrival);
        countsOf(deliveryId).interrupted += 1;
      } else if (unrecorded.has(arrival)) unrecorded.set(arrival, { outcome, at: clock.now() });
    },

    onResults(results: readonly AttemptResult[], by: Process | null): void {
      for (const result of results) {
        const ending = take(result, by);
        checkCounts(result);
        checkOutcome(result, ending);
        checkWait(result, ending);
      }
    },

    /** A process exits after it was stopped. It must have given its attempts the grace period. */
    onExit(process: Process, afterMs: number): void {
      for (const { by, deliveryId } of unrecorded.keys()) {
        if (by !== process) continue;
        countsOf(deliveryId).interrupted += 1;
        if (afterMs < GRACE_MS)
          report(
            'duplicates',
            `${process.name} exits ${afterMs} ms after it was stopped, during an attempt of ${deliveryId}`,
          );
      }
    },

    /** Whether a receiver has responded to a request of this delivery with success. */
    hasSucceeded: (deliveryId: string) => succeeded.has(deliveryId),

    /** Checks in a story without faults that every request is recorded, or was interrupted. */
    onEnd(): void {
      for (const { id, attempts_count: recorded } of tables.deliveries.values()) {
        const { sent, interrupted } = countsOf(id);
        if (sent !== recorded + interrupted)
          report(
            'duplicates',
            `${sent} attempts of ${id} were made, ${recorded} recorded, ${interrupted} interrupted`,
          );
      }
    },
  };
}
