import { globSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { inCheckout } from '../common/paths.ts';
import { filesBySubject, LEFT_OUT } from './subjects.ts';
import { strykerPlugins } from './texts.ts';

/** A change of the text of a file: `replacement` instead of the text between two positions. */
export type PlausibleMutant = {
  file: string;
  mutator: string;
  start: number;
  end: number;
  original: string;
  replacement: string;
};

type Position = { line: number; column: number };

/** The parts of Stryker's instrumenter that this file uses. Lines and columns count from 0. */
type Instrumented = {
  mutants: {
    fileName: string;
    mutatorName: string;
    replacement: string;
    location: { start: Position; end: Position };
    status?: 'Ignored';
  }[];
};
type InstrumenterModule = {
  Instrumenter: new (
    logger: object,
  ) => {
    instrument(files: object[], options: object): Promise<Instrumented>;
  };
};

const INSTRUMENTER = 'dev/mutation/node_modules/@stryker-mutator/instrumenter/dist/src/index.js';
/** Changes that rarely look like a mistake of an author: other texts, emptied objects and functions, other expressions. */
const IMPLAUSIBLE = ['StringLiteral', 'ObjectLiteral', 'ArrowFunction', 'Regex'];
/** A block that returns a value. The compiler rejects most functions without theirs, and `if (false)` is another mutant. */
const RETURNS_VALUE = /\breturn [^;]/;
/** Statements that run once for each installation, and pages that only describe something. */
const NOT_SAMPLED = ['src/database/migrations/**', 'src/api/docs/channel-*.ts'];

/** Returns the files of `src` that `npm run mutate` does not mutate otherwise, sorted. */
export function sampledFiles(root: string): string[] {
  const others = new Set([
    ...filesBySubject(root).flatMap(({ files }) => files),
    ...LEFT_OUT.flatMap(({ files }) => globSync(files, { cwd: root })),
    ...globSync(NOT_SAMPLED, { cwd: root }),
  ]);
  return globSync('src/**/*.ts', { cwd: root })
    .filter((file) => !others.has(file))
    .toSorted();
}

/** Finds mutants with Stryker's instrumenter. */
export type MutantSource = {
  /** Returns the changes of a text that Stryker suggests and that look like a mistake. */
  mutantsOf(file: string, text: string): Promise<PlausibleMutant[]>;
  /** Returns whether a text can be parsed. The replacement for an operator may need parentheses that are missing. */
  isValid(file: string, text: string): Promise<boolean>;
};

/** Loads Stryker's packages, which must be installed. */
export async function loadMutantSource(): Promise<MutantSource> {
  const { Instrumenter } = (await import(pathToFileURL(inCheckout(INSTRUMENTER)).href)) as InstrumenterModule;
  const silent = { isDebugEnabled: () => false, debug() {}, info() {}, warn() {} };
  const instrumenter = new Instrumenter(silent);
  const ignorers = strykerPlugins.map(({ value }) => value);
  const options = { plugins: null, ignorers, excludedMutations: IMPLAUSIBLE };
  const instrument = (name: string, content: string, mutate: boolean) =>
    instrumenter.instrument([{ name, mutate, content }], options);
  return {
    async mutantsOf(file, text) {
      const lines = lineStarts(text);
      const { mutants } = await instrument(file, text, true);
      return mutants
        .filter(({ status }) => status !== 'Ignored')
        .map(({ mutatorName, replacement, location }) => {
          const [start, end] = [offsetOf(lines, location.start), offsetOf(lines, location.end)];
          return { file, mutator: mutatorName, start, end, original: text.slice(start, end), replacement };
        })
        .filter(({ mutator, original }) => mutator !== 'BlockStatement' || !RETURNS_VALUE.test(original));
    },
    async isValid(file, text) {
      return await instrument(file, text, false).then(
        () => true,
        () => false,
      );
    },
  };
}

/** Returns the text of a file with a mutant. */
export function withMutant(text: string, { start, end, replacement }: PlausibleMutant): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (const { index } of text.matchAll(/\n/g)) starts.push(index + 1);
  return starts;
}

function offsetOf(lines: readonly number[], { line, column }: Position): number {
  return (lines[line] ?? 0) + column;
}
