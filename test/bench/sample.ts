import { ratio, row, type BenchResult } from '../../bench/support/results.ts';

/** Returns an invented result in the format of a bench. */
export function sampleResult(changes: Partial<BenchResult> = {}): BenchResult {
  const ms = (title: string) => ({ title, unit: 'ms', digits: 1 });
  return {
    name: 'sender',
    title: 'A sample',
    began_at: '2026-01-31T12:00:00.000Z',
    seconds: 60,
    quick: false,
    where: {
      machine: {
        cpu: 'Some CPU',
        cores: 2,
        memory_mb: 24_105,
        system: 'Linux 6.1',
        fsync_ms: { p50: 0.7, p95: 1.25 },
      },
      versions: { node: '26.10.0', temporal_server: '1.32.0', postgresql: '18.4', temporal_sdk: '1.23.0' },
    },
    tables: [
      {
        id: 'posts',
        title: 'Posts',
        columns: [ms('CPU of a post'), { title: 'rate', unit: '/s', digits: 0 }],
        rows: [row('bare <&>', [12.345, 1_234_567.8]), row('ours', [13, null])],
      },
    ],
    ratios: [
      ratio('ours ÷ bare', 1.0531, { wanted: { at_most: 1.5 } }),
      ratio('rate ÷ bare', 0.05, { wanted: { at_least: 0.08 }, digits: 3 }),
      ratio('events in a history', 17, { digits: 0 }),
    ],
    series: [],
    ...changes,
  };
}
