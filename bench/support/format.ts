import { table } from './figures.ts';
import type { BenchReport, BenchResult, Column, FigureTable, Ratio, Where } from './results.ts';

/** A figure with its unit; empty for none. */
export function figure(value: number | null, { unit, digits }: Pick<Column, 'unit' | 'digits'>): string {
  if (value === null) return '';
  const [whole = '', ...rest] = value.toFixed(digits).split('.');
  const grouped = [whole.replaceAll(/\B(?=(\d{3})+$)/g, ','), ...rest].join('.');
  if (unit === '') return grouped;
  return unit.startsWith('/') ? `${grouped}${unit}` : `${grouped} ${unit}`;
}

/** The cells of a table, its head first. */
export function cellsOf({ columns, rows }: FigureTable): string[][] {
  return [
    ['', ...columns.map(({ title }) => title)],
    ...rows.map(({ title, values }) => [
      title,
      ...columns.map((column, index) => figure(values[index] ?? null, column)),
    ]),
  ];
}

export function wantedOf({ wanted, unit, digits }: Ratio): string {
  if (wanted === null) return '';
  const atMost = 'at_most' in wanted;
  const value = atMost ? wanted.at_most : wanted.at_least;
  const precise = Number.isInteger(value) ? 0 : Math.min(digits, `${value}`.split('.')[1]?.length ?? 0);
  return `${atMost ? '≤' : '≥'} ${figure(value, { unit, digits: precise })}`;
}

export function verdictOf({ met }: Ratio): string {
  if (met === null) return '';
  return met ? 'met' : 'NOT MET';
}

/** The cells of the ratios, their head first. */
export function ratioCells(ratios: readonly Ratio[]): string[][] {
  return [
    ['', 'measured', 'wanted', ''],
    ...ratios.map((one) => [
      one.title,
      figure(one.value, one) || 'not measured',
      wantedOf(one),
      verdictOf(one),
    ]),
  ];
}

/** A bench for a terminal. */
export function printed(bench: BenchResult): string {
  const parts = bench.tables.map((one) => `${one.title}\n${table(cellsOf(one))}`);
  if (bench.ratios.length > 0) parts.push(table(ratioCells(bench.ratios)));
  const quick = bench.quick ? ' (quick: only a proof that it works)' : '';
  return [`${bench.title}${quick}`, ...parts].join('\n\n');
}

/** The machine and the programs, a line each. */
export function whereInWords({ machine, versions }: Where): string[] {
  const { p50, p95 } = machine.fsync_ms;
  return [
    `${machine.cores} × ${machine.cpu}, ${Math.round(machine.memory_mb / 1_024)} GB, ${machine.system}; ` +
      `4 KiB are on the disk in ${p50.toFixed(2)} ms (p95 ${p95.toFixed(2)} ms)`,
    `Node ${versions.node}, Temporal server ${versions.temporal_server}, its SDK ${versions.temporal_sdk}, ` +
      `PostgreSQL ${versions.postgresql}`,
  ];
}

/** What was wanted, over all benches, and how much of it was met. */
export function printedSummary({ benches }: BenchReport): string {
  const goals = benches.flatMap(({ name, ratios }) =>
    ratios.filter(({ met }) => met !== null).map((one) => ({ ...one, title: `${name}: ${one.title}` })),
  );
  const met = goals.filter((one) => one.met).length;
  const [first] = benches;
  return [
    ...(first ? whereInWords(first.where) : []),
    '',
    ...(goals.length > 0 ? [table(ratioCells(goals)), ''] : []),
    `${met} of ${goals.length} met`,
  ].join('\n');
}
