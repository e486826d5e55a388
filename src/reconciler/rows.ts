import { chunksOf } from '../domain/common/chunks.ts';

/** Some rows of a part failed. `cause` is the first failure. */
export class RowsFailed extends Error {
  override name = 'RowsFailed';
}

/** Limit of the time of all failed rows, in milliseconds. A call without a response lasts 5 to 10 s. */
const MAX_FAILING_MS = 15_000;

/** Rows for which a part starts or signals workflows at once. */
export const CONCURRENT_STARTS = 16;

/**
 * Does `work` for each row, `concurrency` of them at once. A row that fails does not stop the others, unless failures
 * have taken 15 s in total: then Temporal or the database is probably unavailable, and the next turn continues.
 * @throws RowsFailed at the end, if a row failed
 */
export async function forEachRow<Row>(
  rows: Iterable<Row> | AsyncIterable<Row>,
  idOf: (row: Row) => string,
  work: (row: Row) => Promise<void>,
  concurrency = 1,
): Promise<void> {
  const failed: { id: string; error: unknown }[] = [];
  let failingMs = 0;
  for await (const together of chunksOf(rows, concurrency)) {
    const begun = performance.now();
    const failedBefore = failed.length;
    await Promise.all(
      together.map((row) => work(row).catch((error: unknown) => failed.push({ id: idOf(row), error }))),
    );
    if (failed.length > failedBefore) failingMs += performance.now() - begun;
    if (failingMs > MAX_FAILING_MS) break;
  }
  const [first] = failed;
  if (first === undefined) return;
  const others = failed.length === 1 ? '' : ` and ${failed.length - 1} more`;
  throw new RowsFailed(`${first.id}${others} could not be reconciled`, { cause: first.error });
}
