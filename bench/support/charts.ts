import { parse, View } from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';

/** Readable on white and on black, since the page may be light or dark. */
const INK = '#808488';
const FAINT = '#80848855';
/** Distinct colours, also for colour-blind readers, on light and dark pages. */
export const COLOURS = ['#3b82c4', '#e08a2c', '#2fa084', '#c45b9b', '#8d7bd6', '#a3a13c', '#d45d4c'];

const CONFIG = {
  background: 'transparent',
  font: 'system-ui, sans-serif',
  view: { stroke: null },
  axis: {
    labelColor: INK,
    titleColor: INK,
    gridColor: FAINT,
    domainColor: FAINT,
    tickColor: FAINT,
  },
  header: { labelColor: INK, titleColor: INK },
  legend: { labelColor: INK, titleColor: INK, labelLimit: 320 },
  title: { color: INK, anchor: 'start' as const },
  text: { color: INK },
  range: { category: COLOURS },
};

/** Row titles are not cut. */
const LABELS = { labelLimit: 400 };

/** A specification of Vega-Lite, without the settings that all charts share. */
export type Chart = Record<string, unknown>;

/** Renders a chart as SVG, with text as text. */
export async function renderSvg(chart: Chart): Promise<string> {
  const specification = compile({ ...chart, config: CONFIG } as unknown as TopLevelSpec).spec;
  const view = new View(parse(specification), { renderer: 'none' });
  const svg = await view.toSVG();
  view.finalize();
  return `${svg}\n`;
}

type Bars = {
  title: string;
  /** One bar for each entry. Null values are left out. */
  bars: { row: string; series: string; value: number | null }[];
  unit: string;
  /** A logarithmic scale. */
  log?: boolean;
};

/** Returns a chart with grouped bars for each row, in the given order. */
export function barChart({ title, bars: all, unit, log = false }: Bars): Chart {
  const values = all.filter(({ value }) => value !== null);
  const order = (key: 'row' | 'series') => [...new Set(values.map((one) => one[key]))];
  const y = {
    y: { field: 'row', type: 'nominal', sort: order('row'), title: null, axis: LABELS },
    yOffset: { field: 'series', sort: order('series') },
  };
  // A logarithmic scale has no zero where a bar could begin, so it has dots.
  const mark = log ? { type: 'point', filled: true, size: 70, opacity: 1 } : { type: 'bar' };
  return {
    title,
    width: 420,
    height: { step: 13 },
    data: { values },
    layer: [
      {
        mark,
        encoding: {
          ...y,
          x: {
            field: 'value',
            type: 'quantitative',
            title: unit === '/s' ? 'per second' : unit,
            ...(log ? { scale: { type: 'log' } } : {}),
          },
          color: {
            field: 'series',
            type: 'nominal',
            sort: order('series'),
            title: null,
            legend: order('series').length > 1 ? { orient: 'top' } : null,
          },
        },
      },
    ],
  };
}

/** Returns a chart of measured values relative to their goals. Left of the line a goal is met. */
export function goalChart(rows: { row: string; share: number; met: boolean }[]): Chart {
  return {
    title: 'Measured and wanted (1 = just met; smaller is better)',
    width: 420,
    height: { step: 18 },
    data: { values: rows },
    layer: [
      {
        mark: { type: 'bar', height: 10 },
        encoding: {
          y: { field: 'row', type: 'nominal', sort: null, title: null, axis: LABELS },
          x: { field: 'share', type: 'quantitative', title: null },
          color: {
            field: 'met',
            type: 'nominal',
            scale: { domain: [true, false], range: [COLOURS[2], COLOURS[6]] },
            legend: null,
          },
        },
      },
      { mark: { type: 'rule', strokeDash: [4, 3], color: INK }, encoding: { x: { datum: 1 } } },
    ],
  };
}

/** Returns a line chart. */
export function lineChart({
  title,
  points,
  x,
  y,
  log = false,
}: {
  title: string;
  points: { series: string; x: number | string; y: number }[];
  x: string;
  y: string;
  log?: boolean;
}): Chart {
  const overTime = typeof points[0]?.x === 'number';
  return {
    title,
    width: 480,
    height: 240,
    data: { values: points },
    mark: { type: 'line', strokeWidth: 1.5, point: !overTime },
    encoding: {
      x: {
        field: 'x',
        type: overTime ? 'quantitative' : 'ordinal',
        sort: null,
        title: x,
        axis: { labelAngle: 0 },
      },
      y: { field: 'y', type: 'quantitative', title: y, ...(log ? { scale: { type: 'log' } } : {}) },
      color: { field: 'series', type: 'nominal', sort: null, title: null },
    },
  };
}

/** Stacks charts vertically. */
export function stackCharts(charts: readonly Chart[]): Chart {
  return { vconcat: charts, spacing: 24, resolve: { scale: { color: 'independent', x: 'independent' } } };
}
