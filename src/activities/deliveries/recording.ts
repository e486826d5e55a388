import type { Database } from '../../database/connect.ts';
import {
  recordResults,
  resultsThere,
  type AttemptResult,
  type Recorded,
} from '../../database/delivery-results.ts';
import { isDatabaseOutage, isDeadlock } from '../../database/outage.ts';

const DEADLOCKS = 5;
/** How often a database that is away is looked for, and how long results are kept for it. */
const LOOK_MS = 200;
const KEPT_MS = 60_000;

/**
 * Records results in spite of deadlocks and outages. Results of a database that is away are kept until it is back:
 * what was sent would else be sent again. After a minute they are given up, so that a worker can end.
 */
export async function recordUntilDone(
  database: Database,
  results: readonly AttemptResult[],
): Promise<Recorded> {
  const until = performance.now() + KEPT_MS;
  let isCertain = true;
  for (;;) {
    try {
      return isCertain
        ? await recordInTurn(database, results)
        : await recordWhatIsNotThere(database, results);
    } catch (error) {
      if (!isDatabaseOutage(error) || performance.now() > until) throw error;
      isCertain = false;
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }
}

/** A connection that broke may have done so before the commit or after it. */
async function recordWhatIsNotThere(
  database: Database,
  results: readonly AttemptResult[],
): Promise<Recorded> {
  const there = await resultsThere(database, results);
  const others = results.filter(({ delivery_id: id }) => !there.has(id));
  if (others.length === 0) return { recorded: there, disabled: [] };
  const { recorded, disabled } = await recordInTurn(database, others);
  return { recorded: new Map([...there, ...recorded]), disabled };
}

/** Two transactions that waited for each other: one was thrown out whole, and is done again. */
async function recordInTurn(database: Database, results: readonly AttemptResult[]): Promise<Recorded> {
  for (let turn = 1; ; turn += 1) {
    try {
      return await recordResults(database, results);
    } catch (error) {
      if (!isDeadlock(error) || turn === DEADLOCKS) throw error;
    }
  }
}
