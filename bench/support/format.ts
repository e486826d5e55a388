import { formatTable } from './measure.ts';
import type { BenchReport, BenchResult, Column, MetricTable, Ratio, BenchEnvironment } from './results.ts';

/** Formats a value with its unit. Null gives an empty string. */
export function formatValue(value: number | null, { unit, digits }: Pick<Column, 'unit' | 'digits'>): string {
  if (value === null) return '';
  const [whole = '', ...rest] = value.toFixed(digits).split('.');
  const grouped = [whole.replaceAll(/\B(?=(\d{3})+$)/g, ','), ...rest].join('.');
  if (unit === '') return grouped;
  return unit.startsWith('/') ? `${grouped}${unit}` : `${grouped} ${unit}`;
}

/** Returns the cells of a table, its head first. */
export function cellsOf({ columns, rows }: MetricTable): string[][] {
  return [
    ['', ...columns.map(({ title }) => title)],
    ...rows.map(({ title, values }) => [
      title,
      ...columns.map((column, index) => formatValue(values[index] ?? null, column)),
    ]),
  ];
}

export function formatGoal({ wanted, unit, digits }: Ratio): string {
  if (wanted === null) return '';
  const atMost = 'at_most' in wanted;
  const value = atMost ? wanted.at_most : wanted.at_least;
  const precise = Number.isInteger(value) ? 0 : Math.min(digits, `${value}`.split('.')[1]?.length ?? 0);
  return `${atMost ? '≤' : '≥'} ${formatValue(value, { unit, digits: precise })}`;
}

export function verdictOf({ met }: Ratio): string {
  if (met === null) return '';
  return met ? 'met' : 'NOT MET';
}

/** Returns the cells of the ratios, their head first. */
export function ratioCells(ratios: readonly Ratio[]): string[][] {
  return [
    ['', 'measured', 'wanted', ''],
    ...ratios.map((one) => [
      one.title,
      formatValue(one.value, one) || 'not measured',
      formatGoal(one),
      verdictOf(one),
    ]),
  ];
}

/** Formats a benchmark for the terminal. */
export function formatBench(bench: BenchResult): string {
  const parts = bench.tables.map((one) => `${one.title}\n${formatTable(cellsOf(one))}`);
  if (bench.ratios.length > 0) parts.push(formatTable(ratioCells(bench.ratios)));
  const quick = bench.quick ? ' (quick: only shows that it works)' : '';
  return [`${bench.title}${quick}`, ...parts].join('\n\n');
}

/** Returns a line about the machine and one about the versions. */
export function formatEnvironment({ machine, versions }: BenchEnvironment): string[] {
  const { p50, p95 } = machine.fsync_ms;
  return [
    `${machine.cores} × ${machine.cpu}, ${Math.round(machine.memory_mb / 1_024)} GB, ${machine.system}; ` +
      `4 KiB are on the disk in ${p50.toFixed(2)} ms (p95 ${p95.toFixed(2)} ms)`,
    `Node ${versions.node}, Temporal server ${versions.temporal_server}, its SDK ${versions.temporal_sdk}, ` +
      `PostgreSQL ${versions.postgresql}`,
  ];
}

/** Formats the goals of all benchmarks, and how many were met. */
export function formatSummary({ benches }: BenchReport): string {
  const goals = benches.flatMap(({ name, ratios }) =>
    ratios.filter(({ met }) => met !== null).map((one) => ({ ...one, title: `${name}: ${one.title}` })),
  );
  const met = goals.filter((one) => one.met).length;
  const [first] = benches;
  return [
    ...(first ? formatEnvironment(first.where) : []),
    '',
    ...(goals.length > 0 ? [formatTable(ratioCells(goals)), ''] : []),
    `${met} of ${goals.length} met`,
  ].join('\n');
}
