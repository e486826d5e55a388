import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { checkout } from '../common/paths.ts';
import { filesBySubject } from './subjects.ts';
import { SURVIVORS } from './survivors.ts';

type Position = { line: number; column: number };

/** One small change of the code, and what the tests did about it. Lines and columns count from 1. */
export type Mutant = {
  id: string;
  mutatorName: string;
  replacement?: string;
  location: { start: Position; end: Position };
  status: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage' | 'Ignored' | 'CompileError' | 'RuntimeError';
};

/** Stryker's results, by file. */
export type Results = { files: Record<string, { source: string; mutants: Mutant[] }> };

/** Numbers of mutants. `explained` are those of `survived` and `uncovered` that change nothing. */
export type Score = { killed: number; survived: number; uncovered: number; explained: number };

export type SubjectScores = { title: string; files: { file: string; score: Score }[]; score: Score };

/** @throws Error if nothing has been mutated yet */
export function readResults(path: string): Results {
  if (!existsSync(path)) throw new Error('There are no results yet. Run `npm run mutate` first.');
  return JSON.parse(readFileSync(path, 'utf8')) as Results;
}

/** Removes mutants that were not killed from the results, so that the next run tries them again with the new tests. */
export function forgetUnkilled(path: string): void {
  const results = readResults(path);
  for (const file of Object.values(results.files)) {
    file.mutants = file.mutants.filter(({ status }) => status === 'Killed' || status === 'Ignored');
  }
  writeFileSync(path, JSON.stringify(results));
}

/** Returns the scores of each subject, with those of its files. */
export function scoresOf(results: Results): SubjectScores[] {
  return filesBySubject(checkout).map(({ title, files }) => {
    const scores = files
      .map((file) => ({ file, score: scoreOf(results, file) }))
      .filter(({ score }) => score.killed + score.survived + score.uncovered > 0);
    return { title, files: scores, score: sum(scores.map(({ score }) => score)) };
  });
}

/** Returns the part of the mutants that tests killed, in percent. */
export function percentOf({ killed, survived, uncovered }: Score): number {
  return (100 * killed) / (killed + survived + uncovered);
}

export function sum(scores: readonly Score[]): Score {
  const total = { killed: 0, survived: 0, uncovered: 0, explained: 0 };
  for (const score of scores) {
    total.killed += score.killed;
    total.survived += score.survived;
    total.uncovered += score.uncovered;
    total.explained += score.explained;
  }
  return total;
}

/** A mutant that no test killed. `reason`: why it changes nothing, if it is listed. */
export type Unkilled = {
  file: string;
  line: number;
  original: string;
  replacement: string;
  reason: string | null;
};

/** Returns the mutants of a file that no test killed. */
export function unkilledIn(results: Results, file: string): Unkilled[] {
  const { source, mutants } = results.files[file] ?? { source: '', mutants: [] };
  const lines = source.split('\n');
  return mutants
    .filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
    .toSorted(({ location: one }, { location: other }) => one.start.line - other.start.line)
    .map(({ location, replacement = '' }) => {
      const original = textAt(lines, location);
      const reason = reasonFor(file, flat(original), flat(replacement));
      return { file, line: location.start.line, original, replacement, reason };
    });
}

/** Returns the mutants of all files that no test killed and that are not listed. */
export function unlistedIn(results: Results): Unkilled[] {
  return Object.keys(results.files)
    .flatMap((file) => unkilledIn(results, file))
    .filter(({ reason }) => reason === null);
}

function reasonFor(file: string, original: string, replacement: string): string | null {
  const found = SURVIVORS.find(
    (listed) =>
      listed.file === file &&
      listed.mutants.some(([code, mutated]) => code === original && mutated === replacement),
  );
  return found?.reason ?? null;
}

function scoreOf(results: Results, file: string): Score {
  const mutants = results.files[file]?.mutants ?? [];
  const count = (...wanted: Mutant['status'][]) =>
    mutants.filter(({ status }) => wanted.includes(status)).length;
  return {
    killed: count('Killed', 'Timeout'),
    survived: count('Survived'),
    uncovered: count('NoCoverage'),
    explained: unkilledIn(results, file).filter(({ reason }) => reason !== null).length,
  };
}

function textAt(lines: readonly string[], { start, end }: Mutant['location']): string {
  const text = lines.slice(start.line - 1, end.line).join('\n');
  const after = (lines[end.line - 1] ?? '').length - (end.column - 1);
  return text.slice(start.column - 1, text.length - after);
}

/** Returns code on one line. */
function flat(code: string): string {
  return code.replaceAll(/\s+/g, ' ');
}
