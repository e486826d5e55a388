import { parseArgs } from 'node:util';

/** The options after the name of a benchmark on the command line. */
export type BenchOptions = {
  /** The number of measurements; undefined: the default of the benchmark. */
  size: number | undefined;
  /** The arguments after the size. */
  rest: string[];
  /** A tiny run that shows that the benchmark works. */
  quick: boolean;
  /** Whether our processes write CPU profiles. */
  profile: boolean;
  /** The duration of a soak. */
  minutes: number | undefined;
};

/** Reads the options. @throws if an option is unknown or invalid */
export function readBenchOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      minutes: { type: 'string' },
    },
  });
  const [size, ...rest] = positionals;
  return {
    size: size === undefined ? undefined : parsePositive('the size', size),
    rest,
    quick: values.quick,
    profile: values.profile,
    minutes: values.minutes === undefined ? undefined : parsePositive('--minutes', values.minutes),
  };
}

function parsePositive(what: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`${what} must be a number above 0, not ${text}`);
  return value;
}
