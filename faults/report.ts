import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isBroken, type Line, type Made } from './books.ts';
import type { StoryPlan } from './plan.ts';

export type Report = {
  plan: Pick<StoryPlan, 'seed' | 'minutes' | 'loadMs'>;
  lines: Line[];
  made: Made[];
  /** Anything else worth telling: how the disk was filled, how long what took. */
  facts: Record<string, string | number>;
};

/** All lines as a table, broken ones marked and with examples. */
export function tableOf({ plan, lines, facts }: Report): string {
  const width = Math.max(...lines.map(({ name }) => name.length));
  const rows = lines.map((line) => {
    const broken = isBroken(line);
    const wanted = { none: '0', some: '> 0', most: `≤ ${line.bound}`, figure: '' }[line.wanted];
    const mark = line.wanted === 'figure' ? ' ' : broken ? '✗' : '✓';
    const row = `  ${mark} ${line.name.padEnd(width)}  ${String(line.count).padStart(7)}  ${wanted.padEnd(6)}  ${line.note ?? ''}`;
    const examples = broken ? line.examples.map((example) => `\n        ${example}`) : [];
    return row.trimEnd() + examples.join('');
  });
  const told = Object.entries(facts).map(([name, value]) => `    ${name}: ${value}`);
  const broken = brokenLines(lines).length;
  return [
    `The story of seed ${plan.seed}, ${plan.minutes} minutes`,
    ...told,
    ...rows,
    broken === 0 ? 'Every invariant held.' : `${broken} invariants did not hold.`,
  ].join('\n');
}

export function brokenLines(lines: readonly Line[]): Line[] {
  return lines.filter(isBroken);
}

export function writeReport(file: string, report: Report): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(report, null, 2)}\n`);
}
