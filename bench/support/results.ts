/*
 * The results of a benchmark as JSON. All output, charts and tables in documents are generated from it, so that no number
 * is copied by hand.
 */

/** A column of values. `unit` follows each value, or is empty. `digits`: decimal places. */
export type Column = { title: string; unit: string; digits: number };

/** Rows of values with titles. Null if a row has no value for a column. */
export type MetricTable = {
  /** Unique within a bench. */
  id: string;
  title: string;
  columns: Column[];
  rows: { title: string; values: (number | null)[] }[];
};

/** A value with its goal. Without a goal, `met` is null. */
export type Ratio = {
  title: string;
  /** Null if it could not be measured. It meets no goal then. */
  value: number | null;
  unit: string;
  digits: number;
  wanted: { at_most: number } | { at_least: number } | null;
  met: boolean | null;
};

/** Values over time: minutes since the start of the load, and megabytes. */
export type Series = { title: string; points: [minute: number, value: number][] };

/** The machine of a benchmark, and the versions of the programs. */
export type BenchEnvironment = {
  machine: {
    cpu: string;
    cores: number;
    memory_mb: number;
    system: string;
    /** Milliseconds until 4 KiB are on the disk, p50 and p95. */
    fsync_ms: { p50: number; p95: number };
  };
  versions: { node: string; temporal_server: string; postgresql: string; temporal_sdk: string };
};

export type BenchResult = {
  name: string;
  title: string;
  /** ISO 8601. */
  began_at: string;
  seconds: number;
  /** A quick run shows that the benchmark works. Its values say little. */
  quick: boolean;
  where: BenchEnvironment;
  tables: MetricTable[];
  ratios: Ratio[];
  series: Series[];
};

export type BenchReport = { benches: BenchResult[] };

/** Returns a value with its goal. */
export function ratio(
  title: string,
  value: number,
  { wanted = null, unit = '', digits = 2 }: { wanted?: Ratio['wanted']; unit?: string; digits?: number } = {},
): Ratio {
  const measured = Number.isFinite(value) ? value : null;
  return { title, value: measured, unit, digits, wanted, met: wanted && meets(measured, wanted) };
}

function meets(value: number | null, wanted: NonNullable<Ratio['wanted']>): boolean {
  if (value === null) return false;
  return 'at_most' in wanted ? value <= wanted.at_most : value >= wanted.at_least;
}

/** Returns a row. Values that are not finite become null, as in JSON. */
export function row(title: string, values: readonly (number | null)[]): MetricTable['rows'][number] {
  return { title, values: values.map((value) => (Number.isFinite(value) ? value : null)) };
}

/** Merges the benchmarks of several reports. The last result of a benchmark counts. */
export function mergeReports(reports: readonly BenchReport[]): BenchReport {
  const byName = new Map<string, BenchResult>();
  for (const bench of reports.flatMap(({ benches }) => benches)) {
    byName.delete(bench.name);
    byName.set(bench.name, bench);
  }
  return { benches: [...byName.values()] };
}

/** Returns a table of a benchmark. @throws if there is none with this id */
export function tableOf(bench: BenchResult, id: string): MetricTable {
  const found = bench.tables.find((table) => table.id === id);
  if (!found) throw new Error(`the bench ${bench.name} has no table ${id}`);
  return found;
}

/** Returns a report as JSON, with each array of numbers on one line. */
export function toJson(report: BenchReport): string {
  const text = JSON.stringify(report, null, 2);
  // JSON strings contain no line breaks, so a bracket before a line break begins an array.
  const rows = text.replaceAll(/\[\n(?:[\s\d.,eE+-]|null)*\]/g, (one) => one.replaceAll(/\s+/g, ''));
  return `${rows}\n`;
}
