import type { PlausibleMutant } from './plausible.ts';

/**
 * What the tests did about a mutant. `files`: how many test files ran. `isCutOff`: the time limit ended the search. A
 * mutant is not reached if no test file is known to call its function; those that import its file ran nevertheless.
 */
export type Outcome =
  | { status: 'killed'; by: string; reason: string; files: number }
  | { status: 'survived' | 'not reached'; files: number; isCutOff: boolean };

/** A mutant with its line, counted from 1, and what the tests did about it. */
export type Tried = PlausibleMutant & { line: number; outcome: Outcome };

/** The most lines that are shown of a mutant. */
const SHOWN_LINES = 6;
/** The factor of the standard deviation for 95 percent. */
const Z = 1.96;

/** Returns one line with the place of a mutant and what the tests did about it. */
export function triedLine({ file, line, mutator, outcome }: Tried): string {
  const place = `${file}:${line} ${mutator}`;
  if (outcome.status === 'killed') return `killed       ${place}: ${outcome.by} (${outcome.reason})`;
  const { status, files, isCutOff } = outcome;
  return `${status.padEnd(12)} ${place}: ${files} test files${isCutOff ? ', ended by the time limit' : ''}`;
}

/** Returns the lines that a mutant changes, before and after the change. */
export function diffOf(text: string, { start, end, replacement }: PlausibleMutant): string {
  const first = text.lastIndexOf('\n', start - 1) + 1;
  const after = text.indexOf('\n', end);
  const last = after < 0 ? text.length : after;
  const changed = text.slice(first, start) + replacement + text.slice(end, last);
  return [...shown(text.slice(first, last), '-'), ...shown(changed, '+')].join('\n');
}

function shown(text: string, sign: string): string[] {
  const lines = text.split('\n');
  const more = lines.length > SHOWN_LINES ? [`${sign} …`] : [];
  return [...lines.slice(0, SHOWN_LINES).map((line) => `${sign} ${line}`), ...more];
}

/** Returns the counts of a sample, and the part that was killed with its 95 % interval. */
export function sampleSummary(outcomes: readonly Outcome[]): string {
  const count = (wanted: Outcome['status']) => outcomes.filter(({ status }) => status === wanted).length;
  const killed = count('killed');
  const counts = `${killed} killed, ${count('survived')} survived, ${count('not reached')} not reached`;
  if (outcomes.length === 0) return counts;
  const [low, high] = wilsonInterval(killed, outcomes.length);
  const percent = (part: number) => Math.round(100 * part);
  return `${counts}: ${percent(killed / outcomes.length)} % killed (95 % interval: ${percent(low)} to ${percent(high)} %)`;
}

/** Returns the 95 % interval of a proportion, by Wilson's formula, which is also right for small samples. */
export function wilsonInterval(successes: number, total: number): [low: number, high: number] {
  const part = successes / total;
  const spread = Z * Math.sqrt((part * (1 - part)) / total + Z ** 2 / (4 * total ** 2));
  const [centre, scale] = [part + Z ** 2 / (2 * total), 1 + Z ** 2 / total];
  return [Math.max(0, (centre - spread) / scale), Math.min(1, (centre + spread) / scale)];
}
