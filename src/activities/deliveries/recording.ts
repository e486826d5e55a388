import type { Database } from '../../database/database.ts';
import {
  recordResults,
  resultsThere,
  type AttemptResult,
  type Recorded,
} from '../../database/webhooks/delivery-results.ts';
import { despiteDeadlocks, despiteOutages } from '../despite-outages.ts';

/** Records results in spite of deadlocks and outages, see {@link despiteOutages}. */
export async function recordUntilDone(
  database: Database,
  results: readonly AttemptResult[],
): Promise<Recorded> {
  return await despiteOutages(async (isAgain) =>
    isAgain
      ? await recordWhatIsNotThere(database, results)
      : await despiteDeadlocks(() => recordResults(database, results)),
  );
}

async function recordWhatIsNotThere(
  database: Database,
  results: readonly AttemptResult[],
): Promise<Recorded> {
  const there = await resultsThere(database, results);
  const others = results.filter(({ delivery_id: id }) => !there.has(id));
  if (others.length === 0) return { recorded: there, disabled: [] };
  const { recorded, disabled } = await despiteDeadlocks(() => recordResults(database, others));
  return { recorded: new Map([...there, ...recorded]), disabled };
}
