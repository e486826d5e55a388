import type { NewDelivery } from '../../database/webhooks/delivery-results.ts';
import type { PlannedDelivery } from '../../database/webhooks/dispatch.ts';
import type { DeliveryStore } from '../../database/webhooks/delivery-store.ts';
import { retryOnDeadlock } from '../../database/common/outage.ts';

/**
 * The rows of new deliveries. A row is written together with the result of its first attempt, which is half the work of
 * writing it twice. If the attempt takes longer than {@link ATTEMPT_MS}, or has not begun after {@link WAIT_MS}, the row is
 * stored before its end, as `pending`.
 */
export type NewDeliveries = {
  /** Call when the attempt of the delivery begins. */
  begin(id: string): void;
  /** Resolves with whether the delivery has a row, so that others may have changed it. */
  hasRow(id: string): Promise<boolean>;
  /**
   * Resolves with the columns of the row in addition to the result that the caller is about to record; null if there is
   * a row.
   */
  take(id: string): Promise<NewDelivery | null>;
  /** Resolves when these deliveries have rows. @throws what the database throws */
  store(ids: readonly string[]): Promise<void>;
  /** Stops storing rows whose attempt takes long. */
  close(): void;
};

/** Time after which a delivery whose attempt is in progress gets its row, in milliseconds. */
const ATTEMPT_MS = 500;
/**
 * Time after which all deliveries without a result get their rows, in milliseconds. In a burst, most attempts wait a second or
 * two for their places, and would double the work with earlier rows.
 */
const WAIT_MS = 2_000;

export function createNewDeliveries(
  deliveries: Pick<DeliveryStore, 'storeDeliveries'>,
  planned: readonly PlannedDelivery[],
  createdAt: Date,
): NewDeliveries {
  const rows = new Map(planned.map((row) => [row.id, row]));
  /** Deliveries whose result is about to be recorded, or is recorded. */
  const taken = new Set<string>();
  /** Inserts in progress or done, by delivery. */
  const stored = new Map<string, Promise<void>>();
  let batch: { rows: PlannedDelivery[]; inserted: Promise<void> } | null = null;
  /** Timers of the attempts in progress. */
  const timers = new Map<string, NodeJS.Timeout>();
  const timer = setTimeout(() => storeWithoutResult([...rows.keys()]), WAIT_MS);

  function storeWithoutResult(ids: readonly string[]): void {
    void store(ids.filter((id) => !taken.has(id))).catch(() => {});
  }

  /** Inserts all rows that are requested in the same turn of the event loop with one statement. */
  function insert(row: PlannedDelivery): Promise<void> {
    if (batch === null) {
      const together: PlannedDelivery[] = [];
      batch = { rows: together, inserted: new Promise(setImmediate).then(() => insertAll(together)) };
    }
    batch.rows.push(row);
    return batch.inserted;
  }

  async function insertAll(inserted: readonly PlannedDelivery[]): Promise<void> {
    batch = null;
    try {
      await retryOnDeadlock(() => deliveries.storeDeliveries(inserted, createdAt));
    } catch (error) {
      for (const { id } of inserted) stored.delete(id);
      throw error;
    }
  }

  async function store(ids: readonly string[]): Promise<void> {
    const inserts = new Set<Promise<void>>();
    for (const id of ids) {
      const row = rows.get(id);
      if (!row) continue;
      const inserted = stored.get(id) ?? insert(row);
      stored.set(id, inserted);
      inserts.add(inserted);
    }
    await Promise.all(inserts);
  }

  async function hasRow(id: string): Promise<boolean> {
    const inserted = stored.get(id);
    if (!inserted) return false;
    return await inserted.then(
      () => true,
      () => false,
    );
  }

  return {
    begin(id) {
      if (rows.has(id) && !timers.has(id)) timers.set(id, setTimeout(storeWithoutResult, ATTEMPT_MS, [id]));
    },
    hasRow,
    async take(id) {
      const isStored = await hasRow(id);
      taken.add(id);
      clearTimeout(timers.get(id));
      const row = rows.get(id);
      if (isStored || !row) return null;
      const { event_seq, event_id, event } = row;
      return { event_seq, event_id, event, created_at: createdAt.toISOString() };
    },
    store,
    close() {
      clearTimeout(timer);
      for (const attempt of timers.values()) clearTimeout(attempt);
    },
  };
}
