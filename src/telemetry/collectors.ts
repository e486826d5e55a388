import { METRICS } from './metrics.ts';
import type { Registry } from './registry.ts';

/* Metrics that are read at each scrape. */

/** Statistics of the live channel. */
export type ChannelStatistics = {
  connections: number;
  rooms: Readonly<Record<string, number>>;
  events_sent: number;
  lag_ms: { p50: number | null; p95: number | null; max: number | null };
  dropped: Readonly<Partial<Record<string, number>>>;
};

/** Collects the metrics of the live channel. */
export function collectChannelMetrics(registry: Registry, read: () => ChannelStatistics): void {
  const connections = registry.family(METRICS.channelConnections).of();
  const rooms = registry.family(METRICS.channelRooms);
  const sent = registry.family(METRICS.channelSent).of();
  const lag = registry.family(METRICS.channelLag);
  const dropped = registry.family(METRICS.channelDropped);
  dropped.of('slow_reader');
  registry.beforeScrape(() => {
    const now = read();
    connections.set(now.connections);
    sent.set(now.events_sent);
    for (const [kind, count] of Object.entries(now.rooms)) rooms.of(kind).set(count);
    const { p50, p95, max } = now.lag_ms;
    for (const [quantile, ms] of [
      ['0.5', p50],
      ['0.95', p95],
      ['1', max],
    ] as const) {
      // NaN before the first event, because 0 would mean no lag.
      lag.of(quantile).set(ms === null ? Number.NaN : ms / 1_000);
    }
    for (const [code, count = 0] of Object.entries(now.dropped)) dropped.of(code).set(count);
  });
}

/** Connections of a PostgreSQL pool. */
export type PoolStatistics = { busy: number; idle: number; waiting: number };

export function collectPoolMetrics(registry: Registry, read: () => Promise<PoolStatistics>): void {
  const connections = registry.family(METRICS.databaseConnections);
  registry.beforeScrape(async () => {
    for (const [state, count] of Object.entries(await read())) connections.of(state).set(count);
  });
}

/** Statistics from the database. */
export type DatabaseStatistics = {
  tasks: Readonly<Record<string, number>>;
  callbacksWaiting: number;
  webhooks: Readonly<Record<string, number>>;
  deliveriesWaiting: Readonly<Record<string, number>>;
  groupsWaiting: number;
  groupsOldestSeconds: number;
  waitingForStart: Readonly<Record<string, { count: number; oldestSeconds: number }>>;
};

/** Minimum time between two reads of the database, in milliseconds. */
const CACHE_MS = 10_000;
/** If a read takes longer, the scrape returns the previous values. In milliseconds. */
const READ_TIMEOUT_MS = 2_000;

/**
 * Reads the database at a scrape if the last result is older than ten seconds. If the read fails, the values stay and
 * their age grows. Before the first result, the age counts from the creation of the collector.
 */
export function collectDatabaseMetrics(
  registry: Registry,
  read: () => Promise<DatabaseStatistics>,
  onError: (error: unknown) => void,
  now: () => number = () => performance.now(),
): void {
  const fill = createGaugeWriter(registry);
  const age = registry.family(METRICS.storedAge);
  const createdAt = now();
  let readAt: number | null = null;
  let reading: Promise<void> | null = null;

  async function readAgain(): Promise<void> {
    try {
      fill(await read());
      readAt = now();
    } catch (error) {
      onError(error);
    } finally {
      reading = null;
    }
  }

  registry.beforeScrape(async () => {
    if (readAt === null || now() - readAt >= CACHE_MS) {
      reading ??= readAgain();
      await Promise.race([reading, readTimeout()]);
    }
    age.of().set((now() - (readAt ?? createdAt)) / 1_000);
  });
}

function createGaugeWriter(registry: Registry): (figures: DatabaseStatistics) => void {
  const tasks = registry.family(METRICS.tasks);
  const callbacks = registry.family(METRICS.callbacksWaiting);
  const webhooks = registry.family(METRICS.webhooks);
  const deliveries = registry.family(METRICS.deliveriesWaiting);
  const groups = registry.family(METRICS.groupsWaiting);
  const oldest = registry.family(METRICS.groupsOldest);
  const unstarted = registry.family(METRICS.waitingForStart);
  const unstartedOldest = registry.family(METRICS.waitingForStartOldest);
  return (figures) => {
    for (const [state, count] of Object.entries(figures.tasks)) tasks.of(state).set(count);
    for (const [status, count] of Object.entries(figures.webhooks)) webhooks.of(status).set(count);
    for (const [status, count] of Object.entries(figures.deliveriesWaiting)) deliveries.of(status).set(count);
    callbacks.of().set(figures.callbacksWaiting);
    groups.of().set(figures.groupsWaiting);
    oldest.of().set(figures.groupsOldestSeconds);
    for (const [kind, { count, oldestSeconds }] of Object.entries(figures.waitingForStart)) {
      unstarted.of(kind).set(count);
      unstartedOldest.of(kind).set(oldestSeconds);
    }
  };
}

function readTimeout(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, READ_TIMEOUT_MS).unref());
}
