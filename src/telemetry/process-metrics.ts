import { monitorEventLoopDelay } from 'node:perf_hooks';
import { METRICS } from './metrics.ts';
import type { Registry } from './registry.ts';

const LOOP_QUANTILES = [50, 99, 100] as const;
/** Resolution of the event loop delay, in milliseconds. */
const LOOP_RESOLUTION_MS = 20;

/** Collects the metrics of a process; `name` as in its log. Returns a function that stops it. */
export function collectProcessMetrics(
  registry: Registry,
  { name, version }: { name: string; version: string },
): () => void {
  registry.family(METRICS.buildInfo).of(name, version, process.version).set(1);
  registry
    .family(METRICS.startTime)
    .of()
    .set((Date.now() - performance.now()) / 1_000);
  const cpu = registry.family(METRICS.cpu).of();
  const memory = registry.family(METRICS.memory).of();
  const heap = registry.family(METRICS.heap).of();
  const delays = registry.family(METRICS.loopDelay);
  const loop = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  loop.enable();
  registry.beforeScrape(() => {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    cpu.set((user + system) / 1e6);
    memory.set(rss);
    heap.set(heapUsed);
    for (const percent of LOOP_QUANTILES) {
      // The measured delay includes the resolution.
      const late = Math.max(0, loop.percentile(percent) / 1e9 - LOOP_RESOLUTION_MS / 1_000);
      delays.of(String(percent / 100)).set(late);
    }
    loop.reset();
  });
  return () => loop.disable();
}
