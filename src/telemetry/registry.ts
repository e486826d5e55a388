import {
  Counter,
  Gauge,
  Histogram as PrometheusHistogram,
  Registry as PrometheusRegistry,
} from 'prom-client';

/** A metric: its name, and the names of the labels that tell its series apart. */
export type Definition = {
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  labels: readonly string[];
  /** Upper bounds of a histogram, ascending; without +Inf. */
  buckets?: readonly number[];
};

/** One time series of a counter or a gauge. It begins at 0. */
export type Series = {
  inc(by?: number): void;
  /** For gauges, and for counters whose value is counted elsewhere. */
  set(value: number): void;
};

/** The series of one counter or gauge. */
export type Family = {
  /** Returns the series of these label values, in the order of the definition. */
  of(...values: string[]): Series;
};

export type Histogram = {
  /** Counts a value, in the unit that the metric's name says. */
  observe(value: number, ...labels: string[]): void;
};

/** The metrics of a process. */
export type Registry = {
  family(definition: Definition): Family;
  histogram(definition: Definition): Histogram;
  /** Calls `collector` at each scrape, before the text is made. */
  beforeScrape(collector: () => void | Promise<void>): void;
  /** Returns all metrics in the exposition format of Prometheus, version 0.0.4. */
  text(): Promise<string>;
};

/** Between the label values in the key of a series; no value holds it. */
const SEPARATOR = '\u0000';

export function createRegistry(): Registry {
  const prometheus = new PrometheusRegistry();
  const collectors: (() => void | Promise<void>)[] = [];
  return {
    family(definition) {
      const seriesOf = definition.type === 'counter' ? countersOf : gaugesOf;
      const create = seriesOf(prometheus, definition);
      const known = new Map<string, Series>();
      return {
        of(...values) {
          const key = values.join(SEPARATOR);
          let series = known.get(key);
          if (series === undefined) known.set(key, (series = create(values)));
          return series;
        },
      };
    },
    histogram({ name, help, labels, buckets = [] }) {
      const histogram = new PrometheusHistogram({
        name,
        help,
        labelNames: [...labels],
        buckets: [...buckets],
        registers: [prometheus],
      });
      return { observe: (value, ...values) => histogram.labels(...values).observe(value) };
    },
    beforeScrape(collector) {
      collectors.push(collector);
    },
    async text() {
      await Promise.all(collectors.map(async (collect) => await collect()));
      return await prometheus.metrics();
    },
  };
}

type Create = (values: string[]) => Series;

function countersOf(prometheus: PrometheusRegistry, { name, help, labels }: Definition): Create {
  const counter = new Counter({ name, help, labelNames: [...labels], registers: [prometheus] });
  // A series is not reported before it is known.
  if (labels.length === 0) counter.remove();
  return (values) => {
    const child = counter.labels(...values);
    child.inc(0);
    return {
      inc: (by = 1) => child.inc(by),
      set(value) {
        counter.remove(...values);
        child.inc(value);
      },
    };
  };
}

function gaugesOf(prometheus: PrometheusRegistry, { name, help, labels }: Definition): Create {
  const gauge = new Gauge({ name, help, labelNames: [...labels], registers: [prometheus] });
  if (labels.length === 0) gauge.remove();
  return (values) => {
    const child = gauge.labels(...values);
    child.set(0);
    return { inc: (by = 1) => child.inc(by), set: (value) => child.set(value) };
  };
}
