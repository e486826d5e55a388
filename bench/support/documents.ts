import { cellsOf, ratioCells, formatEnvironment } from './format.ts';
import type { BenchReport, BenchResult } from './results.ts';

/*
 * The tables of `docs/performance.md` are between markers and are generated from results: `<!-- figures:tasks.times -->`
 * up to `<!-- /figures -->` holds the table `times` of the benchmark `tasks`. `tasks.ratios` holds the goals, `tasks.where`
 * the date and the machine, and `tasks.picture` the chart.
 */
const MARKED = /(<!-- figures:([\w-]+)\.([\w-]+) -->\n)[^]*?(<!-- \/figures -->)/g;

/**
 * Returns the document with new tables between its markers. Tables of benchmarks that are not in the report do not
 * change.
 * @throws if a marker names an unknown table
 */
export function updateTables(document: string, { benches }: BenchReport): string {
  return document.replaceAll(MARKED, (whole, begin: string, name: string, part: string, end: string) => {
    const bench = benches.find((one) => one.name === name);
    return bench ? `${begin}\n${formatPart(bench, part)}\n\n${end}` : whole;
  });
}

function formatPart(bench: BenchResult, part: string): string {
  if (part === 'where') return formatWhere(bench);
  if (part === 'picture') return `![${bench.title}](performance/${bench.name}.svg)`;
  if (part === 'ratios') return markdownTable(ratioCells(bench.ratios));
  const table = bench.tables.find(({ id }) => id === part);
  if (!table) throw new Error(`the bench ${bench.name} has no table ${part}`);
  return markdownTable(cellsOf(table));
}

function formatWhere({ began_at, quick, where }: BenchResult): string {
  const [machine = '', programs = ''] = formatEnvironment(where);
  const note = quick ? ' **A quick run: it only shows that the benchmark works.**' : '';
  return `${began_at.slice(0, 10)}: ${machine}. ${programs}.${note}`;
}

/** Formats a table. The first row is its head, the first column is text. */
export function markdownTable([head = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  const rule = `|${head.map((_, index) => (index === 0 ? '---' : '--:')).join('|')}|`;
  const bold = (cells: readonly string[]) => cells.map((cell) => (cell === 'NOT MET' ? '**not met**' : cell));
  return [line(head), rule, ...rows.map((row) => line(bold(row)))].join('\n');
}
