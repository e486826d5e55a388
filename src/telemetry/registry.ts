/*
 * Figures of a process, and their text for Prometheus (exposition format 0.0.4). A cell is looked up by its labels and
 * then only added to, so that counting costs next to nothing where much is counted.
 */

/** What a metric is called, and what it tells; `labels` are the names of what tells its cells apart. */
export type Definition = {
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  labels: readonly string[];
  /** Upper bounds of a histogram, ascending; without +Inf. */
  buckets?: readonly number[];
};

/** A number that is counted up, or set. */
export type Cell = { value: number };

/** Counters and gauges of one name. */
export type Family = {
  /** The cell of these label values, in the order of the definition; it begins at 0. */
  of(...values: string[]): Cell;
  /** Forgets all cells: for gauges that are filled anew at each reading. */
  clear(): void;
};

export type Histogram = {
  /** `seconds`: the reading, in the unit that the metric's name says. */
  observe(reading: number, ...values: string[]): void;
};

/** Fills gauges in when somebody reads. */
export type Collector = () => void | Promise<void>;

export type Registry = {
  family(definition: Definition): Family;
  histogram(definition: Definition): Histogram;
  /** Called at each reading, before the text is made. */
  beforeReading(collector: Collector): void;
  /** All metrics that have at least one cell. */
  text(): Promise<string>;
};

type Lines = () => string[];

export function createRegistry(): Registry {
  const metrics: { definition: Definition; lines: Lines }[] = [];
  const collectors: Collector[] = [];
  return {
    family(definition) {
      const { family, lines } = createFamily(definition);
      metrics.push({ definition, lines });
      return family;
    },
    histogram(definition) {
      const { histogram, lines } = createHistogram(definition);
      metrics.push({ definition, lines });
      return histogram;
    },
    beforeReading(collector) {
      collectors.push(collector);
    },
    async text() {
      await Promise.all(collectors.map(async (collect) => await collect()));
      return metrics.map(({ definition, lines }) => section(definition, lines())).join('');
    },
  };
}

function section({ name, help, type }: Definition, lines: readonly string[]): string {
  if (lines.length === 0) return '';
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('\n')}\n`;
}

/** What stands between the values of labels in a key; none of them holds it. */
const BETWEEN = '\u0000';

function createFamily({ name, labels }: Definition): { family: Family; lines: Lines } {
  const cells = new Map<string, Cell>();
  return {
    family: {
      of(...values) {
        const key = values.join(BETWEEN);
        let cell = cells.get(key);
        if (cell === undefined) cells.set(key, (cell = { value: 0 }));
        return cell;
      },
      clear: () => cells.clear(),
    },
    lines: () => [...cells].map(([key, { value }]) => `${name}${labelsOf(labels, key)} ${numberOf(value)}`),
  };
}

type Filled = { counts: Float64Array; sum: number; count: number };

function createHistogram({ name, labels, buckets = [] }: Definition): { histogram: Histogram; lines: Lines } {
  const cells = new Map<string, Filled>();
  const bounds = Float64Array.from(buckets);
  return {
    histogram: {
      observe(reading, ...values) {
        const key = values.join(BETWEEN);
        let cell = cells.get(key);
        if (cell === undefined) {
          cells.set(key, (cell = { counts: new Float64Array(bounds.length), sum: 0, count: 0 }));
        }
        cell.sum += reading;
        cell.count += 1;
        const place = bounds.findIndex((bound) => reading <= bound);
        if (place !== -1) cell.counts[place] = (cell.counts[place] ?? 0) + 1;
      },
    },
    lines: () => [...cells].flatMap(([key, cell]) => histogramLines(name, labels, key, bounds, cell)),
  };
}

function histogramLines(
  name: string,
  labels: readonly string[],
  key: string,
  bounds: Float64Array,
  { counts, sum, count }: Filled,
): string[] {
  let below = 0;
  const buckets = [...bounds].map((bound, place) => {
    below += counts[place] ?? 0;
    return `${name}_bucket${labelsOf([...labels, 'le'], `${prefix(labels, key)}${bound}`)} ${below}`;
  });
  const own = labelsOf(labels, key);
  return [
    ...buckets,
    `${name}_bucket${labelsOf([...labels, 'le'], `${prefix(labels, key)}+Inf`)} ${count}`,
    `${name}_sum${own} ${numberOf(sum)}`,
    `${name}_count${own} ${count}`,
  ];
}

function prefix(labels: readonly string[], key: string): string {
  return labels.length === 0 ? '' : `${key}${BETWEEN}`;
}

function labelsOf(names: readonly string[], key: string): string {
  if (names.length === 0) return '';
  const values = key.split(BETWEEN);
  return `{${names.map((name, place) => `${name}="${escaped(values[place] ?? '')}"`).join(',')}}`;
}

function escaped(value: string): string {
  return value
    .replaceAll('\\', String.raw`\\`)
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`);
}

function numberOf(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}
