import { barChart, renderSvg, goalChart, lineChart, stackCharts, type Chart } from './charts.ts';
import { tableOf, type BenchResult, type MetricTable, type Ratio } from './results.ts';

/** Returns the charts of a benchmark as SVG; null if it has none. */
export async function drawPlot(bench: BenchResult): Promise<string | null> {
  const charts = (CHARTS[bench.name] ?? (() => []))(bench);
  const shares = goalsOf(bench.ratios);
  const all = [...charts, ...(shares.length > 0 ? [goalChart(shares)] : [])];
  return all.length === 0 ? null : await renderSvg(stackCharts(all));
}

const CHARTS: Record<string, (bench: BenchResult) => Chart[]> = {
  tasks: (bench) => [
    chartColumns(tableOf(bench, 'times'), {
      title: 'Submitting a task',
      columns: ['submit p50', 'submit p95'],
    }),
    chartColumns(tableOf(bench, 'times'), {
      title: 'From submitting to the callback',
      columns: ['submit → callback p50', 'submit → callback p95'],
      log: true,
    }),
    chartColumns(tableOf(bench, 'cpu'), { title: 'CPU of 1,000 tasks', columns: ['CPU'] }),
  ],
  webhooks: (bench) => [
    chartColumns(tableOf(bench, 'times'), { title: 'Times', columns: ['p50', 'p95', 'p99'] }),
    chartColumns(tableOf(bench, 'times'), { title: 'Rates', columns: ['rate'], log: true }),
    chartColumns(tableOf(bench, 'cpu'), { title: 'CPU of a million deliveries', columns: ['CPU'] }),
  ],
  channel: (bench) => [
    chartColumns(tableOf(bench, 'times'), {
      title: 'From the write of an event',
      columns: ['p50', 'p95'],
      log: true,
    }),
    chartColumns(tableOf(bench, 'rates'), {
      title: 'Without rest',
      columns: ['written', 'arrived'],
      log: true,
    }),
  ],
  sender: (bench) => [
    chartColumns(tableOf(bench, 'posts'), { title: 'CPU of a POST', columns: ['CPU of a post'] }),
  ],
  growth: (bench) => [chartGrowth(bench)],
  soak: (bench) => [chartSoak(bench)],
};

/** Returns a bar chart of some columns of a table, which share the first one's unit. */
function chartColumns(
  { columns, rows }: MetricTable,
  { title, columns: names, log = false }: { title: string; columns: string[]; log?: boolean },
): Chart {
  const chosen = names.map((name) => columns.findIndex((column) => column.title === name));
  const [first = -1] = chosen;
  const all = rows.flatMap(({ title: row, values }) =>
    chosen.map((index) => ({ row, series: columns[index]?.title ?? '', value: values[index] ?? null })),
  );
  return barChart({ title, bars: all, unit: columns[first]?.unit ?? '', log });
}

/** Returns a chart of the growth from the second stage to the last one, with ten times the rows: the last column. */
function chartGrowth(bench: BenchResult): Chart {
  const { columns, rows } = tableOf(bench, 'growth');
  const last = columns.length - 1;
  const all = rows.map(({ title, values }) => {
    const name = title.replace(/ \(\S+\)$/, '');
    return { row: name, series: 'growth', value: values[last] ?? null };
  });
  return barChart({
    title: 'Ten times as much stored: how many times as much it takes',
    bars: all,
    unit: '×',
  });
}

function chartSoak({ series }: BenchResult): Chart {
  const points = series.flatMap(({ title, points: all }) => all.map(([x, y]) => ({ series: title, x, y })));
  return lineChart({ title: 'Memory under steady load', points, x: 'minutes', y: 'MB' });
}

function goalsOf(ratios: readonly Ratio[]): { row: string; share: number; met: boolean }[] {
  return ratios.flatMap(({ title, value, wanted, met }) => {
    if (wanted === null || value === null || met === null) return [];
    const share = 'at_most' in wanted ? value / wanted.at_most : wanted.at_least / value;
    return Number.isFinite(share) ? [{ row: title, share, met }] : [];
  });
}
