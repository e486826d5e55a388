import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isViolated, type InvariantResult } from './invariants.ts';
import type { InjectedFault } from './records.ts';
import type { ScenarioPlan } from './plan.ts';

export type Report = {
  plan: Pick<ScenarioPlan, 'seed' | 'minutes' | 'loadMs'>;
  invariants: InvariantResult[];
  faults: InjectedFault[];
  /** Further information, such as how the disk was filled and durations. */
  facts: Record<string, string | number>;
};

/** Formats the results as a table. Violated invariants are marked and have examples. */
export function formatReport({ plan, invariants, facts }: Report): string {
  const width = Math.max(...invariants.map(({ name }) => name.length));
  const rows = invariants.map((result) => {
    const violated = isViolated(result);
    const limit = { none: '0', some: '> 0', 'at most': `≤ ${result.limit}`, any: '' }[result.expected];
    const mark = result.expected === 'any' ? ' ' : violated ? '✗' : '✓';
    const row = `  ${mark} ${result.name.padEnd(width)}  ${String(result.count).padStart(7)}  ${limit.padEnd(6)}  ${result.note ?? ''}`;
    const examples = violated ? result.examples.map((example) => `\n        ${example}`) : [];
    return row.trimEnd() + examples.join('');
  });
  const factLines = Object.entries(facts).map(([name, value]) => `    ${name}: ${value}`);
  const violationCount = findViolations(invariants).length;
  return [
    `Fault scenario with seed ${plan.seed}, ${plan.minutes} minutes`,
    ...factLines,
    ...rows,
    violationCount === 0 ? 'All invariants held.' : `${violationCount} invariants violated.`,
  ].join('\n');
}

export function findViolations(invariants: readonly InvariantResult[]): InvariantResult[] {
  return invariants.filter(isViolated);
}

export function writeReport(file: string, report: Report): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
}
