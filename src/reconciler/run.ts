import { setTimeout } from 'node:timers/promises';
import { Client as PostgresClient } from 'pg';
import { deleteOldRequests, removeAbandoned } from './abandoned-listeners.ts';
import {
  dispatchForgotten,
  drainForgotten,
  notifyForgotten,
  retryForgotten,
  type DeliveryDependencies,
} from './forgotten-deliveries.ts';
import { syncWithEngine, removeExpired, startForgotten, sweep, type Dependencies } from './reconcile.ts';

const EVERY_MS = 1_000;
const SWEEP_EVERY_MS = 30_000;
const LOCK = "hashtext('baton reconciler')";

type ReconcilerDependencies = Dependencies &
  DeliveryDependencies & {
    databaseUrl: string;
    /** Called after each turn of this process. */
    onTurn?: ((outcome: 'done' | 'failed') => void) | undefined;
  };

/** A running reconciler. */
export type Reconciler = { stop(): Promise<void> };

/**
 * Reconciles every second, in one process at a time: the one that holds the advisory lock of the database. Errors are
 * logged, and the next turn tries again. After a lost connection, another process gets the lock.
 */
export function startReconciler(dependencies: ReconcilerDependencies): Reconciler {
  const { log, databaseUrl } = dependencies;
  const stopping = new AbortController();
  let lock: PostgresClient | null = null;
  let sweptAt = Number.NEGATIVE_INFINITY;

  async function turn(): Promise<void> {
    lock ??= await takeLock();
    if (lock === null) return;
    await syncWithEngine(dependencies);
    await startForgotten(dependencies);
    await dispatchForgotten(dependencies);
    await retryForgotten(dependencies);
    await removeAbandoned(dependencies);
    if (performance.now() - sweptAt >= SWEEP_EVERY_MS) {
      await sweep(dependencies);
      await drainForgotten(dependencies);
      await notifyForgotten(dependencies);
      await removeExpired(dependencies);
      await deleteOldRequests(dependencies);
      sweptAt = performance.now();
    }
    dependencies.onTurn?.('done');
  }

  async function takeLock(): Promise<PostgresClient | null> {
    const client = new PostgresClient({
      connectionString: databaseUrl,
      application_name: 'baton reconciler',
    });
    client.on('error', (error) => log.warn({ err: error }, 'reconciler lost its lock'));
    client.on('end', () => {
      if (lock === client) lock = null;
    });
    await client.connect();
    const answer = await client.query<{ taken: boolean }>(`select pg_try_advisory_lock(${LOCK}) as taken`);
    if (answer.rows[0]?.taken) return client;
    await client.end();
    return null;
  }

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      await turn().catch((error: unknown) => {
        dependencies.onTurn?.('failed');
        log.warn({ err: error }, 'reconciler turn failed');
      });
      await pause(EVERY_MS, stopping.signal);
    }
    await lock?.end();
  }

  const done = loop();
  return {
    async stop() {
      stopping.abort();
      await done;
    },
  };
}

/** Waits `ms` milliseconds, or until the signal aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {});
}
