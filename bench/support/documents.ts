import { cellsOf, ratioCells, whereInWords } from './printed.ts';
import type { BenchReport, BenchResult } from './results.ts';

/*
 * The tables of `docs/performance.md` stand between markers and are made from results: `<!-- figures:tasks.times -->` up
 * to `<!-- /figures -->` holds the table `times` of the bench `tasks`. `tasks.ratios` is what was wanted, `tasks.where`
 * when and where it was measured, and `tasks.picture` shows its picture.
 */
const MARKED = /(<!-- figures:([\w-]+)\.([\w-]+) -->\n)[^]*?(<!-- \/figures -->)/g;

/**
 * The document with its marked tables made anew. Those of benches that the report lacks stay as they are.
 * @throws where a marker names a table that its bench has not
 */
export function withFigures(document: string, { benches }: BenchReport): string {
  return document.replaceAll(MARKED, (whole, begin: string, name: string, part: string, end: string) => {
    const bench = benches.find((one) => one.name === name);
    return bench ? `${begin}\n${partOf(bench, part)}\n\n${end}` : whole;
  });
}

function partOf(bench: BenchResult, part: string): string {
  if (part === 'where') return whereOf(bench);
  if (part === 'picture') return `![${bench.title}](performance/${bench.name}.svg)`;
  if (part === 'ratios') return markdownTable(ratioCells(bench.ratios));
  const table = bench.tables.find(({ id }) => id === part);
  if (!table) throw new Error(`the bench ${bench.name} has no table ${part}`);
  return markdownTable(cellsOf(table));
}

function whereOf({ began_at, quick, where }: BenchResult): string {
  const [machine = '', programs = ''] = whereInWords(where);
  const note = quick ? ' **A quick run: its figures only show that the bench works.**' : '';
  return `${began_at.slice(0, 10)}: ${machine}. ${programs}.${note}`;
}

/** A table with its head first; the first column is text. */
export function markdownTable([head = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  const rule = `|${head.map((_, index) => (index === 0 ? '---' : '--:')).join('|')}|`;
  const bold = (cells: readonly string[]) => cells.map((cell) => (cell === 'NOT MET' ? '**not met**' : cell));
  return [line(head), rule, ...rows.map((row) => line(bold(row)))].join('\n');
}
