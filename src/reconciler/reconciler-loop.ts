import { setTimeout } from 'node:timers/promises';
import { Client as PostgresClient } from 'pg';
import { CONNECT_MS, KEEP_ALIVE_MS } from '../database/connect.ts';
import { hasOpenRuns } from '../database/tasks/task-runs.ts';
import { createDeliveryStore } from '../database/webhooks/delivery-store.ts';
import { deleteOldRequests, deleteAbandonedListeners } from './abandoned-listeners.ts';
import {
  startUnstartedGroups,
  restartBacklogs,
  startUnsentNotices,
  regroupStuckEvents,
  startUnstartedRetries,
  holdOrCancelLeftovers,
  restartEndedRetries,
  startForgottenManualRetries,
  startOverdueRetries,
  cancelTestsOfDeadProcesses,
  type DeliveryDependencies,
  type OverduePositions,
} from './forgotten-deliveries.ts';
import {
  recordEnds,
  recordPauses,
  removeExpired,
  repairPauses,
  startUnsentCallbacks,
  signalPauses,
  startPushes,
  startUnstartedRuns,
  startUnstartedCallbackRetries,
  sweep,
  type Dependencies,
} from './reconcile.ts';

const EVERY_MS = 1_000;
const SWEEP_EVERY_MS = 30_000;
const LOCK = "hashtext('baton reconciler')";
/** How often the session that holds the lock is used, in milliseconds. */
const SIGN_OF_LIFE_MS = 3_000;
/**
 * Time after which the server ends a session without a statement, in milliseconds. Without it, the session of a machine
 * that vanished or hangs would keep the lock until TCP gives up, which takes hours.
 */
const LOCK_EXPIRY_MS = 15_000;

type ReconcilerDependencies = Dependencies &
  Omit<DeliveryDependencies, 'store'> & {
    databaseUrl: string;
    /** Called after each turn of this process; `failed` also if slow parts have failed since the last one. */
    onTurn?: ((outcome: 'done' | 'failed') => void) | undefined;
    /** How long stopping waits for a part in progress, in milliseconds. */
    stopMs?: number;
    /** How often the slow parts run, in milliseconds. */
    sweepEveryMs?: number;
  };

type PartDependencies = ReconcilerDependencies &
  Pick<DeliveryDependencies, 'store'> & { positions: OverduePositions };
type Part = (dependencies: PartDependencies) => Promise<void>;

/**
 * The parts of each turn that concern open runs. Without open runs they are skipped: they ask Temporal for two lists each
 * second, more than everything else that an idle installation computes.
 */
const OPEN_RUN_PARTS: readonly Part[] = [
  recordPauses,
  signalPauses,
  repairPauses,
  recordEnds,
  startUnstartedRuns,
];

/** The other parts of each turn. */
const PARTS: readonly Part[] = [
  startUnstartedGroups,
  startUnstartedRetries,
  startPushes,
  deleteAbandonedListeners,
];

/**
 * The slow parts, which run every {@link SWEEP_EVERY_MS}, concurrently with the turns. The last one runs apart from the others,
 * because it may take minutes: it holds or cancels the deliveries of webhooks with a large backlog, with rests.
 */
const SWEEPS: readonly (readonly Part[])[] = [
  [
    sweep,
    startUnsentCallbacks,
    startUnstartedCallbackRetries,
    regroupStuckEvents,
    restartBacklogs,
    restartEndedRetries,
    startForgottenManualRetries,
    startOverdueRetries,
    cancelTestsOfDeadProcesses,
    startUnsentNotices,
    removeExpired,
    deleteOldRequests,
  ],
  [holdOrCancelLeftovers],
];

/** A running reconciler. `stop` waits for the part in progress, but at most {@link STOP_MS}. */
export type Reconciler = { stop(): Promise<void> };

/** The workers of the process are stopped after the reconciler, and have to finish their work, too. */
const STOP_MS = 5_000;

/**
 * Reconciles every second, in one process at a time: the one that holds the advisory lock of the database. A part that
 * fails is logged and does not stop the others. The next turn tries it again. If the connection breaks, or the process
 * or its machine hangs for {@link LOCK_EXPIRY_MS}, another process gets the lock.
 */
export function startReconciler(given: ReconcilerDependencies): Reconciler {
  const positions = { deliveries: null, retries: null };
  const dependencies = { ...given, store: createDeliveryStore(given.database), positions };
  const { log, databaseUrl, stopMs = STOP_MS, sweepEveryMs = SWEEP_EVERY_MS } = dependencies;
  const stopping = new AbortController();
  let lock: PostgresClient | null = null;
  const sweeps = SWEEPS.map((parts) => ({
    parts,
    endedAt: Number.NEGATIVE_INFINITY,
    running: null as Promise<void> | null,
  }));
  let hasSweepFailed = false;

  async function turn(): Promise<void> {
    lock ??= await takeLock();
    if (lock === null) return;
    for (const swept of sweeps)
      if (performance.now() - swept.endedAt >= sweepEveryMs) swept.running ??= run(swept);
    // If the database cannot be read, the parts report it.
    const isAnyOpen = await hasOpenRuns(dependencies.database).catch(() => true);
    const parts = isAnyOpen ? [...OPEN_RUN_PARTS, ...PARTS] : PARTS;
    const outcome = await doParts(parts, withOneList(dependencies));
    if (outcome === 'stopped') return;
    dependencies.onTurn?.(hasSweepFailed ? 'failed' : outcome);
    hasSweepFailed = false;
  }

  /** Does slow parts. The next turns and the other sweeps do not wait for them. */
  async function run(swept: (typeof sweeps)[number]): Promise<void> {
    if ((await doParts(swept.parts, dependencies)) === 'failed') hasSweepFailed = true;
    swept.endedAt = performance.now();
    swept.running = null;
  }

  /** Does the parts one after another. */
  async function doParts(
    parts: readonly Part[],
    shared: PartDependencies,
  ): Promise<'done' | 'failed' | 'stopped'> {
    let outcome: 'done' | 'failed' = 'done';
    for (const part of parts) {
      if (stopping.signal.aborted) return 'stopped';
      await part(shared).catch((error: unknown) => {
        outcome = 'failed';
        log.warn({ err: error, part: part.name }, 'reconciler turn failed');
      });
    }
    return outcome;
  }

  async function takeLock(): Promise<PostgresClient | null> {
    const client = new PostgresClient({
      connectionString: databaseUrl,
      application_name: 'baton reconciler',
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    });
    client.on('error', (error) => log.warn({ err: error }, 'reconciler lost its lock'));
    await client.connect();
    const signsOfLife = setInterval(() => void client.query('select 1').catch(() => {}), SIGN_OF_LIFE_MS);
    client.on('end', () => {
      clearInterval(signsOfLife);
      if (lock === client) lock = null;
    });
    try {
      await client.query(`set idle_session_timeout = ${LOCK_EXPIRY_MS}`);
      const answer = await client.query<{ taken: boolean }>(`select pg_try_advisory_lock(${LOCK}) as taken`);
      if (answer.rows[0]?.taken) return client;
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
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
    for (const { running } of sweeps) await running;
    await lock?.end();
  }

  const done = loop();
  return {
    async stop() {
      stopping.abort();
      const patience = new AbortController();
      await Promise.race([done, pause(stopMs, patience.signal)]);
      patience.abort();
      await lock?.end();
    },
  };
}

/** Returns dependencies with which several parts of a turn share one list of the paused runs. */
export function withOneList<Given extends Pick<Dependencies, 'engine'>>(dependencies: Given): Given {
  const { engine } = dependencies;
  let listed: ReturnType<typeof engine.pausedRuns> | null = null;
  return { ...dependencies, engine: { ...engine, pausedRuns: () => (listed ??= engine.pausedRuns()) } };
}

/** Waits `ms` milliseconds, or until the signal aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {});
}
