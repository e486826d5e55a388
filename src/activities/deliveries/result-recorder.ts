import type { Database } from '../../database/database.ts';
import type { AttemptResult, Disabled, RecordedResult } from '../../database/webhooks/delivery-results.ts';
import { recordWithRetries } from './recording.ts';

/** Writes the results of attempts down. */
export type ResultRecorder = {
  /**
   * Resolves once the result is committed, which waits for a database that is away; null where the delivery is gone.
   * @throws what the database throws
   */
  record(result: AttemptResult): Promise<RecordedResult | null>;
  /** More results are not committed yet than a crash should repeat: whoever has one more waits for it. */
  isOverloaded(): boolean;
};

/** At most so many results in one transaction, and a success waits so many milliseconds for others. */
const BATCH = 60;
const LINGER_MS = 15;
const MAX_UNCOMMITTED = 120;

type Entry = {
  result: AttemptResult;
  since: number;
  resolve: (recorded: RecordedResult | null) => void;
  reject: (error: unknown) => void;
};

/**
 * A ledger that writes one transaction at a time, so that results are committed in the order they came in: failures
 * at once with every success before them, successes together with the next ones, so that a crash repeats few.
 */
export function createResultRecorder(
  database: Database,
  onDisabled: (disabled: Disabled) => void,
): ResultRecorder {
  const waiting: Entry[] = [];
  let uncommitted = 0;
  let failures = 0;
  let writing = false;
  let timer: NodeJS.Timeout | null = null;

  /** A failure, a full batch and an old success are written at once. */
  function isUrgent(): boolean {
    const oldest = waiting[0]?.since ?? Number.POSITIVE_INFINITY;
    return failures > 0 || waiting.length >= BATCH || performance.now() - oldest >= LINGER_MS;
  }

  async function write(): Promise<void> {
    if (writing) return;
    writing = true;
    if (timer) clearTimeout(timer);
    timer = null;
    while (isUrgent()) await writeBatch(takeBatch(waiting));
    writing = false;
    if (waiting.length > 0) timer = setTimeout(() => void write(), LINGER_MS);
  }

  async function writeBatch(batch: Entry[]): Promise<void> {
    failures -= batch.filter(({ result }) => !result.succeeded).length;
    try {
      const { recorded, disabled } = await recordWithRetries(
        database,
        batch.map(({ result }) => result),
      );
      for (const { result, resolve } of batch) resolve(recorded.get(result.delivery_id) ?? null);
      for (const one of disabled) onDisabled(one);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    uncommitted -= batch.length;
  }

  return {
    record(result) {
      const { promise, resolve, reject } = Promise.withResolvers<RecordedResult | null>();
      waiting.push({ result, since: performance.now(), resolve, reject });
      uncommitted += 1;
      if (!result.succeeded) failures += 1;
      if (isUrgent()) void write();
      else if (!writing) timer ??= setTimeout(() => void write(), LINGER_MS);
      return promise;
    },
    isOverloaded: () => uncommitted >= MAX_UNCOMMITTED,
  };
}

/** The next results in order, one for each delivery: a second one of the same delivery waits for the next batch. */
function takeBatch(waiting: Entry[]): Entry[] {
  const seen = new Set<string>();
  let size = 0;
  for (const { result } of waiting) {
    if (size === BATCH || seen.has(result.delivery_id)) break;
    seen.add(result.delivery_id);
    size += 1;
  }
  return waiting.splice(0, size);
}
