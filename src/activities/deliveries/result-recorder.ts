import type { DeliveryStore } from '../../database/webhooks/delivery-store.ts';
import type { AttemptResult, Disabled, RecordedResult } from '../../database/webhooks/delivery-results.ts';
import { recordWithRetries } from './recording.ts';

/** Records the results of attempts. */
export type ResultRecorder = {
  /**
   * Resolves once the result is committed, also after a database outage; null if the delivery was deleted.
   * @throws what the database throws
   */
  record(result: AttemptResult): Promise<RecordedResult | null>;
  /**
   * Returns whether more results are uncommitted than a crash should repeat. Then callers wait for their result before
   * they release their place.
   */
  isOverloaded(): boolean;
};

/**
 * Results per transaction, characters of responses in a transaction with more than one result, time that a success waits for
 * others in milliseconds, and number of uncommitted results that counts as overloaded.
 */
const BATCH = 60;
const BATCH_CHARACTERS = 512 * 1_024;
const LINGER_MS = 15;
const MAX_UNCOMMITTED = 120;

type Entry = {
  result: AttemptResult;
  since: number;
  resolve: (recorded: RecordedResult | null) => void;
  reject: (error: unknown) => void;
};

/**
 * Creates a recorder that writes one transaction at a time, so that results are committed in the order they came. A
 * failure is written at once together with all earlier successes. Successes are batched only briefly, so that a crash
 * repeats few.
 */
export function createResultRecorder(
  store: DeliveryStore,
  onDisabled: (disabled: Disabled) => void,
): ResultRecorder {
  const waiting: Entry[] = [];
  let uncommitted = 0;
  let failures = 0;
  let writing = false;
  let timer: NodeJS.Timeout | null = null;

  /** Returns whether to write at once: for a failure, a full batch, or an old success. */
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
        store,
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

/**
 * Takes the next results in order, one for each delivery. A second result of a delivery waits for the next batch. Their text becomes
 * one parameter of a statement, and 60 long responses would occupy the process for too long.
 */
function takeBatch(waiting: Entry[]): Entry[] {
  const seen = new Set<string>();
  let size = 0;
  let characters = 0;
  for (const { result } of waiting) {
    if (size === BATCH || seen.has(result.delivery_id)) break;
    characters += result.response_body?.length ?? 0;
    if (size > 0 && characters > BATCH_CHARACTERS) break;
    seen.add(result.delivery_id);
    size += 1;
  }
  return waiting.splice(0, size);
}
