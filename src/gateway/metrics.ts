import type { ChannelCode, ChannelMetrics } from '../domain/channel/channel.ts';

/** Seconds over which rates are averaged. */
const WINDOW_S = 10;
/** Number of lags that are kept for the percentiles. */
const LAGS = 2_048;
/** How long a lag counts, in milliseconds: without newer ones, one slow moment would stay in the percentiles. */
const LAG_MS = 5 * 60_000;

/** The metrics of a gateway. */
export type MetricsRecorder = {
  connected(by: 1 | -1): void;
  /** Events sent to clients, counted once per client. */
  sent(count: number): void;
  /** Milliseconds from writing an event to sending it. */
  lagged(ms: number): void;
  dropped(code: ChannelCode): void;
  /** Returns the current statistics; `rooms` is the number of rooms with at least one connection. */
  read(rooms: ChannelMetrics['rooms']): ChannelMetrics;
};

/** Creates a recorder that starts at zero. `clock` is used for rates and for the age of lags. */
export function createMetricsRecorder(clock: () => Date): MetricsRecorder {
  let connections = 0;
  let total = 0;
  const seconds = new Map<number, number>();
  const lags: { ms: number; at: number }[] = [];
  let nextLag = 0;
  const dropped: Partial<Record<ChannelCode, number>> = {};
  const second = () => Math.floor(clock().getTime() / 1_000);

  return {
    connected(by) {
      connections += by;
    },
    sent(count) {
      total += count;
      const now = second();
      seconds.set(now, (seconds.get(now) ?? 0) + count);
      if (seconds.size > WINDOW_S + 1) {
        for (const past of seconds.keys()) if (past < now - WINDOW_S) seconds.delete(past);
      }
    },
    lagged(ms) {
      lags[nextLag] = { ms, at: clock().getTime() };
      nextLag = (nextLag + 1) % LAGS;
    },
    dropped(code) {
      dropped[code] = (dropped[code] ?? 0) + 1;
    },
    read(rooms) {
      const now = second();
      let recent = 0;
      for (const [past, count] of seconds) if (past >= now - WINDOW_S && past < now) recent += count;
      const since = clock().getTime() - LAG_MS;
      const sorted = lags
        .filter(({ at }) => at >= since)
        .map(({ ms }) => ms)
        .toSorted((a, b) => a - b);
      return {
        connections,
        rooms,
        events_sent: total,
        events_per_second: recent / WINDOW_S,
        lag_ms: {
          p50: percentile(sorted, 0.5),
          p95: percentile(sorted, 0.95),
          max: percentile(sorted, 1),
        },
        dropped: { ...dropped },
      };
    },
  };
}

function percentile(sorted: readonly number[], part: number): number | null {
  const value = sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)];
  return value === undefined ? null : Math.round(value * 10) / 10;
}
