import type { DeliveryStore } from '../../database/webhooks/delivery-store.ts';
import type { AttemptResult, Recorded } from '../../database/webhooks/delivery-results.ts';
import { retryOnOutage } from '../retry-on-outage.ts';

/** Records results with retries for outages, see {@link retryOnOutage}. */
export async function recordWithRetries(
  store: DeliveryStore,
  results: readonly AttemptResult[],
): Promise<Recorded> {
  return await retryOnOutage(async (isAgain) =>
    isAgain ? await recordMissing(store, results) : await store.recordResults(results),
  );
}

async function recordMissing(store: DeliveryStore, results: readonly AttemptResult[]): Promise<Recorded> {
  const alreadyRecorded = await store.findRecordedResults(results);
  const others = results.filter(({ delivery_id: id }) => !alreadyRecorded.has(id));
  if (others.length === 0) return { recorded: alreadyRecorded, disabled: [] };
  const { recorded, disabled } = await store.recordResults(others);
  return { recorded: new Map([...alreadyRecorded, ...recorded]), disabled };
}
