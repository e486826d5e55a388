/*
 * What a bench has found, as JSON: everything that is printed, drawn or written into the documents is made from it, so
 * that nobody types a figure by hand.
 */

/** A column of figures. `unit` stands behind each figure, or is empty; `digits` behind the point. */
export type Column = { title: string; unit: string; digits: number };

/** Rows of figures with a title each; null where a row has no figure for a column. */
export type FigureTable = {
  /** Unique within a bench. */
  id: string;
  title: string;
  columns: Column[];
  rows: { title: string; values: (number | null)[] }[];
};

/** A figure with what was wanted of it; where nothing was, `met` is null. */
export type Ratio = {
  title: string;
  /** Null where it could not be measured, which never meets anything. */
  value: number | null;
  unit: string;
  digits: number;
  wanted: { at_most: number } | { at_least: number } | null;
  met: boolean | null;
};

/** A line over time: minutes since the start of the load, and megabytes. */
export type Series = { title: string; points: [minute: number, value: number][] };

/** The machine a bench ran on, and the programs. */
export type Where = {
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
  /** A quick one proves that the bench works; its figures say little. */
  quick: boolean;
  where: Where;
  tables: FigureTable[];
  ratios: Ratio[];
  series: Series[];
};

export type BenchReport = { benches: BenchResult[] };

/** A figure and what is wanted of it. */
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

/** `values` as a row: what is no number becomes null, as JSON would have it. */
export function row(title: string, values: readonly (number | null)[]): FigureTable['rows'][number] {
  return { title, values: values.map((value) => (Number.isFinite(value) ? value : null)) };
}

/** The benches of several reports; of the same one the last that is given. */
export function merged(reports: readonly BenchReport[]): BenchReport {
  const byName = new Map<string, BenchResult>();
  for (const bench of reports.flatMap(({ benches }) => benches)) {
    byName.delete(bench.name);
    byName.set(bench.name, bench);
  }
  return { benches: [...byName.values()] };
}

/** A table of a bench. @throws where the bench has none of that id */
export function tableOf(bench: BenchResult, id: string): FigureTable {
  const found = bench.tables.find((table) => table.id === id);
  if (!found) throw new Error(`the bench ${bench.name} has no table ${id}`);
  return found;
}

/** A report as it is kept: rows of numbers and nothing stand in a line each. */
export function asJson(report: BenchReport): string {
  const text = JSON.stringify(report, null, 2);
  // Within a text a line never ends, so what begins with the end of one is an array.
  const rows = text.replaceAll(/\[\n(?:[\s\d.,eE+-]|null)*\]/g, (one) => one.replaceAll(/\s+/g, ''));
  return `${rows}\n`;
}
