import { parse, View } from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';

/** Readable on white and on black alike: the page behind a picture may be either. */
const INK = '#808488';
const FAINT = '#80848855';
/** Apart from each other for every kind of sight, and on both grounds. */
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

/** Titles of rows are read whole. */
const LABELS = { labelLimit: 400 };

/** Anything that a picture is made of, without what all pictures share. */
export type Picture = Record<string, unknown>;

/** An SVG of a picture in the words of Vega-Lite, its text as text. */
export async function drawn(picture: Picture): Promise<string> {
  const specification = compile({ ...picture, config: CONFIG } as unknown as TopLevelSpec).spec;
  const view = new View(parse(specification), { renderer: 'none' });
  const svg = await view.toSVG();
  view.finalize();
  return `${svg}\n`;
}

type Bars = {
  title: string;
  /** One bar for each; null ones are left out. */
  bars: { row: string; series: string; value: number | null }[];
  unit: string;
  /** Values that lie far apart. */
  log?: boolean;
};

/** Bars side by side for each row, the rows in the order given. */
export function bars({ title, bars: all, unit, log = false }: Bars): Picture {
  const values = all.filter(({ value }) => value !== null);
  const order = (key: 'row' | 'series') => [...new Set(values.map((one) => one[key]))];
  const y = {
    y: { field: 'row', type: 'nominal', sort: order('row'), title: null, axis: LABELS },
    yOffset: { field: 'series', sort: order('series') },
  };
  // A scale of powers has no zero for a bar to begin at, so the bar becomes a dot.
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

/** How far what was measured is from what was wanted: left of the line is met. */
export function goals(rows: { row: string; share: number; met: boolean }[]): Picture {
  return {
    title: 'Measured beside wanted (1 = just met; smaller is better)',
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

/** Lines over a quantity. */
export function lines({
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
}): Picture {
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

/** Pictures one below the other. */
export function stacked(pictures: readonly Picture[]): Picture {
  return { vconcat: pictures, spacing: 24, resolve: { scale: { color: 'independent', x: 'independent' } } };
}
