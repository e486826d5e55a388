import { parseArgs } from 'node:util';

/** What stands behind the name of a bench on the command line. */
export type BenchOptions = {
  /** How much of everything; absent: what the bench takes by itself. */
  size: number | undefined;
  /** What follows the size. */
  rest: string[];
  /** A tiny run that proves that the bench works. */
  quick: boolean;
  /** Whether our processes are to leave CPU profiles. */
  profile: boolean;
  /** Of a soak. */
  minutes: number | undefined;
};

/** @throws a sentence where a word is none that benches know */
export function readBenchOptions(words: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      minutes: { type: 'string' },
    },
  });
  const [size, ...rest] = positionals;
  return {
    size: size === undefined ? undefined : numberOf('the size', size),
    rest,
    quick: values.quick,
    profile: values.profile,
    minutes: values.minutes === undefined ? undefined : numberOf('--minutes', values.minutes),
  };
}

function numberOf(what: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`${what} is a number above 0, not ${text}`);
  return value;
}
