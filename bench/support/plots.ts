import { bars, drawn, goals, lines, stacked, type Picture } from './drawing.ts';
import { tableOf, type BenchResult, type FigureTable, type Ratio } from './results.ts';

/** The picture of a bench as SVG; null where there is nothing to draw. */
export async function plotOf(bench: BenchResult): Promise<string | null> {
  const pictures = (PICTURES[bench.name] ?? (() => []))(bench);
  const shares = goalsOf(bench.ratios);
  const all = [...pictures, ...(shares.length > 0 ? [goals(shares)] : [])];
  return all.length === 0 ? null : await drawn(stacked(all));
}

const PICTURES: Record<string, (bench: BenchResult) => Picture[]> = {
  tasks: (bench) => [
    fromColumns(tableOf(bench, 'times'), {
      title: 'Submitting a task',
      columns: ['submit p50', 'submit p95'],
    }),
    fromColumns(tableOf(bench, 'times'), {
      title: 'From submitting to the callback',
      columns: ['submit → callback p50', 'submit → callback p95'],
      log: true,
    }),
    fromColumns(tableOf(bench, 'cpu'), { title: 'CPU of 1,000 tasks', columns: ['CPU'] }),
  ],
  webhooks: (bench) => [
    fromColumns(tableOf(bench, 'times'), { title: 'Times', columns: ['p50', 'p95', 'p99'] }),
    fromColumns(tableOf(bench, 'times'), { title: 'Rates', columns: ['rate'], log: true }),
    fromColumns(tableOf(bench, 'cpu'), { title: 'CPU of a million deliveries', columns: ['CPU'] }),
  ],
  channel: (bench) => [
    fromColumns(tableOf(bench, 'times'), {
      title: 'From the write of an event',
      columns: ['p50', 'p95'],
      log: true,
    }),
    fromColumns(tableOf(bench, 'rates'), {
      title: 'Without rest',
      columns: ['written', 'arrived'],
      log: true,
    }),
  ],
  sender: (bench) => [
    fromColumns(tableOf(bench, 'posts'), { title: 'CPU of a POST', columns: ['CPU of a post'] }),
  ],
  growth: (bench) => [growthOf(bench)],
  soak: (bench) => [soakOf(bench)],
};

/** Bars of some columns of a table, which share the first one's unit. */
function fromColumns(
  { columns, rows }: FigureTable,
  { title, columns: wanted, log = false }: { title: string; columns: string[]; log?: boolean },
): Picture {
  const chosen = wanted.map((name) => columns.findIndex((column) => column.title === name));
  const [first = -1] = chosen;
  const all = rows.flatMap(({ title: row, values }) =>
    chosen.map((index) => ({ row, series: columns[index]?.title ?? '', value: values[index] ?? null })),
  );
  return bars({ title, bars: all, unit: columns[first]?.unit ?? '', log });
}

/** How everything has grown from the second stage to the last, which has ten times the rows; the last column says it. */
function growthOf(bench: BenchResult): Picture {
  const { columns, rows } = tableOf(bench, 'growth');
  const last = columns.length - 1;
  const all = rows.map(({ title, values }) => {
    const name = title.replace(/ \(\S+\)$/, '');
    return { row: name, series: 'growth', value: values[last] ?? null };
  });
  return bars({ title: 'Ten times as much stored: how many times as much it takes', bars: all, unit: '×' });
}

function soakOf({ series }: BenchResult): Picture {
  const points = series.flatMap(({ title, points: all }) => all.map(([x, y]) => ({ series: title, x, y })));
  return lines({ title: 'Memory under steady load', points, x: 'minutes', y: 'MB' });
}

function goalsOf(ratios: readonly Ratio[]): { row: string; share: number; met: boolean }[] {
  return ratios.flatMap(({ title, value, wanted, met }) => {
    if (wanted === null || value === null || met === null) return [];
    const share = 'at_most' in wanted ? value / wanted.at_most : wanted.at_least / value;
    return Number.isFinite(share) ? [{ row: title, share, met }] : [];
  });
}
