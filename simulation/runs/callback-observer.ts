import { createHmac } from 'node:crypto';
import type { Report } from '../invariants/guarantees.ts';
import type { Commit } from '../store/memory-store.ts';
import { GRACE_MS } from '../engine/tasks.ts';
import type { Clock, Process } from '../world/clock.ts';
import type { Arrival, RequestOutcome } from '../world/receivers.ts';
import { secretOf } from './callers.ts';
import { EFFECT_MS } from './observer.ts';
import type { RunRow, RunTables } from './store/tables.ts';

/** Attempts of a callback, according to the guarantee, and the waits between them in milliseconds. */
const ATTEMPTS = 3;
const WAITS_MS = [1_000, 4_000];
/** Time after which an attempt is over, even if its end was not recorded, in milliseconds. */
const LONGEST_ATTEMPT_MS = 12_000;

type Dependencies = {
  clock: Clock;
  tables: RunTables;
  /** Whether the story contains no faults. */
  isCalm: boolean;
  /** Maximum time from a decision to the arrival of its request without freezes, in milliseconds. */
  slackMs: number;
  wasChangedInTemporal: (id: string) => boolean;
  report: Report;
};

/** Checks every attempt of a callback, and reports violations of guarantees. */
export function createCallbackObserver(deps: Dependencies) {
  const { clock, tables, isCalm, slackMs, wasChangedInTemporal, report } = deps;
  const sent = new Map<string, { automatic: number; manual: number }>();
  /** The signature and the body of the first request of each callback. */
  const first = new Map<string, string>();
  /** Callbacks that got a response with 2xx. */
  const answered = new Set<string>();
  /** Attempts that are sent, but whose end is not recorded: the execution and the process of each. */
  const inProgress = new Map<string, Process>();
  const deliveredAt = new Map<string, number>();
  /** How many manual retries were accepted. */
  const retries = new Map<string, number>();

  function checkAttempts(id: string): void {
    const own = tables.attempts.get(id) ?? [];
    const automatic = own.filter(({ trigger }) => trigger === 'automatic');
    if (automatic.length > ATTEMPTS) report('attempts', `${id} has ${automatic.length} automatic attempts`);
    if (own.some(({ attempt }, index) => attempt !== index + 1))
      report('attempts', `the attempts of ${id} have gaps`);
    for (const [index, waitMs] of WAITS_MS.entries()) {
      const [before, after] = [automatic[index], automatic[index + 1]];
      const endedAt = before?.failure === 'interrupted' ? null : before?.completed_at;
      if (!before || !endedAt || !after) continue;
      // Its end was recorded so late that another process had counted it as over.
      if (endedAt.getTime() - before.attempted_at.getTime() > LONGEST_ATTEMPT_MS) continue;
      const waitedMs = after.attempted_at.getTime() - endedAt.getTime();
      const isLate = isCalm && !wasChangedInTemporal(id) && waitedMs > waitMs + EFFECT_MS;
      if (waitedMs < waitMs || isLate)
        report('attempts', `attempt ${index + 2} of ${id} began after ${waitedMs} ms`);
    }
    const row = tables.runs.get(id);
    if (row?.callback_status === 'delivered' && !deliveredAt.has(id)) deliveredAt.set(id, clock.now());
  }

  function checkCallback({ id, state, callback_url: url, callback_status: status }: RunRow): void {
    const isDue = url !== null && state !== 'cancelled';
    if (!isDue) {
      if (status !== 'none') report('callback', `the callback of ${id}, which is ${state}, is ${status}`);
      return;
    }
    const automatic = (tables.attempts.get(id) ?? []).filter(({ trigger }) => trigger === 'automatic');
    const { manual = 0 } = sent.get(id) ?? {};
    const requested = retries.get(id) ?? 0;
    if (status !== 'delivered' && status !== 'failed')
      report('callback', `the callback of ${id} is ${status}`);
    if (status === 'delivered' && !answered.has(id)) report('callback', `${id} was not delivered`);
    if (status === 'failed' && automatic.length !== ATTEMPTS)
      report('callback', `the callback of ${id} has failed after ${automatic.length} attempts`);
    if (isCalm && status === 'failed' && answered.has(id))
      report('callback', `the callback of ${id} was delivered, but has failed`);
    const { length: made } = (tables.attempts.get(id) ?? []).filter(({ trigger }) => trigger === 'manual');
    if (made > requested || (isCalm && (made !== requested || manual !== requested)))
      report('callbackRetry', `${requested} retries of ${id} made ${made} attempts, ${manual} requests`);
  }

  function checkContent({ deliveryId: id, body, signature }: Arrival, { state }: RunRow): void {
    const bytes = `${signature} ${body}`;
    if (bytes !== (first.get(id) ?? bytes)) report('bytes', `an attempt of ${id} has other bytes`);
    first.set(id, bytes);
    const own = createHmac('sha256', secretOf(id)).update(body).digest('hex');
    if (signature !== `sha256=${own}`) report('bytes', `the signature of ${id} is not that of its body`);
    const { status } = JSON.parse(body) as { status?: unknown };
    if (status !== state)
      report('callback', `the callback of ${id}, which is ${state}, says ${String(status)}`);
  }

  return {
    /** A transaction was committed. */
    onCommit({ name, given, result, by }: Commit): void {
      if (/Attempt|Callback/.test(name)) for (const id of tables.runs.keys()) checkAttempts(id);
      if (name !== 'endAttempt' && name !== 'requestCallbackRetry') return;
      const { executionId } = given[0] as { executionId: string };
      if (name === 'endAttempt' && inProgress.get(executionId) === by) inProgress.delete(executionId);
      if (name !== 'requestCallbackRetry' || result !== true) return;
      retries.set(executionId, (retries.get(executionId) ?? 0) + 1);
    },

    onSend(arrival: Arrival): void {
      const { deliveryId: id, by } = arrival;
      const row = tables.runs.get(id);
      if (!row?.completed_at)
        return report('stored', `the callback of ${id} is sent before its end is stored`);
      inProgress.set(id, by);
      const counts = sent.get(id) ?? { automatic: 0, manual: 0 };
      sent.set(id, counts);
      counts[row.callback_retry_id ? 'manual' : 'automatic'] += 1;
      if (counts.automatic > ATTEMPTS) report('attempts', `${counts.automatic} automatic attempts of ${id}`);
      checkContent(arrival, row);
      const since = deliveredAt.get(id) ?? Number.POSITIVE_INFINITY;
      if (clock.now() - Math.max(since, by.thawedAt) > slackMs)
        report('attempts', `the callback of ${id} is sent again, although its success is recorded`);
    },

    onResponse({ deliveryId: id }: Arrival, outcome: RequestOutcome): void {
      if (outcome === 'succeeded') answered.add(id);
    },

    /** A process exits after it was stopped. It must have given its attempts the grace period. */
    onExit(process: Process, afterMs: number): void {
      for (const [id, by] of inProgress)
        if (by === process && afterMs < GRACE_MS)
          report(
            'callback',
            `${process.name} exits during its attempt of ${id}, ${afterMs} ms after it was stopped`,
          );
    },

    /** Checks what must hold once nothing is left to do. */
    onEnd(): void {
      for (const row of tables.runs.values()) checkCallback(row);
    },
  };
}
