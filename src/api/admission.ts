import type { Database } from '../database/database.ts';
import { readWaitingWork, type WaitingKind, type WaitingWork } from '../database/common/waiting-work.ts';
import { MAX_WAITING_SECONDS } from '../domain/common/limits.ts';
import { Problem } from './http/problem.ts';

/** Maximum amounts of work that may wait for Temporal, over all processes. */
export type WaitingLimits = Record<WaitingKind, number>;

/** Decides whether more work is accepted while Temporal is unavailable. */
export type Admission = {
  /**
   * Resolves if `count` more may be accepted.
   * @throws Problem `unavailable` if too much waits already, or for too long
   */
  admit(kind: WaitingKind, count: number): Promise<void>;
};

type AdmissionDependencies = {
  database: Database;
  limits: WaitingLimits;
  /** Whether work of this kind waits for Temporal in this process. */
  isBehind: (kind: WaitingKind) => boolean;
};

/** How long a count is used, in milliseconds. In this time, processes may together accept more than the limit. */
const FRESH_MS = 1_000;
const RETRY_AFTER_SECONDS = 5;

/** Creates the admission of a process. As long as starts succeed, it costs nothing and accepts everything. */
export function createAdmission({ database, limits, isBehind }: AdmissionDependencies): Admission {
  let known: { work: Promise<WaitingWork>; at: number; accepted: WaitingLimits } | null = null;

  function current() {
    if (known === null || performance.now() - known.at > FRESH_MS) {
      known = { work: readWaitingWork(database), at: performance.now(), accepted: { tasks: 0, events: 0 } };
    }
    return known;
  }

  return {
    async admit(kind, count) {
      if (!isBehind(kind)) return;
      const { work, accepted } = current();
      const waiting = (await work)[kind];
      const isTooMuch = waiting.count + accepted[kind] + count > limits[kind];
      if (isTooMuch || waiting.oldestSeconds > MAX_WAITING_SECONDS) throw tooMuchWaits(kind, waiting.count);
      accepted[kind] += count;
    },
  };
}

function tooMuchWaits(kind: WaitingKind, count: number): Problem {
  const detail = `Temporal is unavailable, and ${count} accepted ${kind} wait for it. Nothing more was accepted. Try again later.`;
  return new Problem('unavailable', detail, { headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) } });
}
