import type { Database } from '../../database/database.ts';
import {
  recordResults,
  findRecordedResults,
  type AttemptResult,
  type Recorded,
} from '../../database/webhooks/delivery-results.ts';
import { retryOnOutage } from '../retry-on-outage.ts';

/** Records results with retries for outages, see {@link retryOnOutage}. */
export async function recordWithRetries(
  database: Database,
  results: readonly AttemptResult[],
): Promise<Recorded> {
  return await retryOnOutage(async (isAgain) =>
    isAgain ? await recordMissing(database, results) : await recordResults(database, results),
  );
}

async function recordMissing(database: Database, results: readonly AttemptResult[]): Promise<Recorded> {
  const alreadyRecorded = await findRecordedResults(database, results);
  const others = results.filter(({ delivery_id: id }) => !alreadyRecorded.has(id));
  if (others.length === 0) return { recorded: alreadyRecorded, disabled: [] };
  const { recorded, disabled } = await recordResults(database, others);
  return { recorded: new Map([...alreadyRecorded, ...recorded]), disabled };
}
